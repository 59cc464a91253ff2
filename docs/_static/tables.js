// A click on the head of a long table sorts its rows by that column, a second click the other way.
const number = (text) => parseFloat(text.replace(/^[<\s]+|,(?=\d{3})/g, ""));
const order = (a, b) =>
  isNaN(number(a)) || isNaN(number(b)) ? b.localeCompare(a) : number(a) - number(b);
const isEmpty = (text) => /^\s*-?\s*$/.test(text); // such cells come last, either way

for (const table of document.querySelectorAll("table.docutils")) {
  const body = table.tBodies[0];
  if (!table.tHead || body.rows.length <= 10) continue;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.className = "sorter";
    button.title = "Sort by this column";
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const falling = head.getAttribute("aria-sort") !== "descending";
      const text = (row) => row.cells[column].textContent;
      const rows = [...body.rows].sort((one, other) => {
        const [a, b] = [text(one), text(other)];
        return isEmpty(a) - isEmpty(b) || (falling ? order(b, a) : order(a, b));
      });
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      body.append(...rows);
    };
  });
}
