// A click on the head of a long table sorts its rows by that column, a second click the other way.
const number = (text) => parseFloat(text.replace(/[^-+.\d].*$/, ""));
const order = (a, b) =>
  isNaN(number(a)) || isNaN(number(b)) ? b.localeCompare(a) : number(a) - number(b);

for (const table of document.querySelectorAll("table.docutils")) {
  const body = table.tBodies[0];
  if (!table.tHead || body.rows.length <= 10) continue;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.className = "sorter";
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const falling = head.getAttribute("aria-sort") !== "descending";
      const text = (row) => row.cells[column].textContent;
      const rows = [...body.rows].sort((a, b) => order(text(a), text(b)));
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      body.append(...(falling ? rows.reverse() : rows));
    };
  });
}
