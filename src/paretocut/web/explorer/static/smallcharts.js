// The smaller pictures: tail, Q-Q, gate, numbers kept, recall and precision.

import { number, share, svg, whole } from "./dom.js";
import { axisX, axisY, canvas, dots, line, linear, logarithmic, picture } from "./scale.js";

const box = (width, height = 220) => ({ left: 46, right: width - 14, top: 18, bottom: height - 38, height });

// The scores above the threshold, counted, and what the fitted tail expects of chance.
export function tailChart(tail, up) {
  return picture(
    `Histogram of the ${whole(tail.tests)} results above the threshold ${number(tail.threshold)}, with the fitted density`,
    (width) => {
      const { left, right, top, bottom, height } = box(width);
      const ends = [tail.edges[0], tail.edges.at(-1)];
      const x = linear(up ? ends : ends.reverse(), [left, right]);
      const most = Math.max(...tail.counts, ...tail.expected);
      // Counts fall over several powers of ten; the square root shows the few beside the many.
      const root = linear([0, Math.sqrt(most)], [bottom, top]);
      const y = (count) => root(Math.sqrt(Math.max(count, 0)));
      const ticks = [0, 1, 5, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000].filter((t) => t <= most);
      return canvas(width, height,
        axisY(y, ticks.filter((t, i) => i < 2 || y(ticks[i - 1]) - y(t) > 12), { left, right, label: { text: "results", y: top - 6 } }),
        axisX(x, x.ticks(4), { top: bottom, bottom, label: { text: up ? "score" : "distance", x: right, anchor: "end" } }),
        tail.counts.map((count, i) => count > 0 && svg("rect", {
          class: "count-bar", x: Math.min(x(tail.edges[i]), x(tail.edges[i + 1])) + 0.5, y: y(count),
          width: Math.max(Math.abs(x(tail.edges[i + 1]) - x(tail.edges[i])) - 1, 0.5), height: bottom - y(count),
        })),
        svg("path", { class: "density", d: line(tail.grid.map(x), tail.expected.map(y)) }),
      );
    },
  );
}

// Observed surprise against what so many chance results would have.
export function qqChart(tail, k, up) {
  const { expected, observed, rank } = tail.qq;
  return picture("Q-Q plot: observed surprise against the surprise expected of chance", (width) => {
    const { left, right, top, bottom, height } = box(width);
    const x = linear([0, Math.max(...expected) * 1.04], [left, right]);
    const y = linear([0, Math.max(...observed, ...expected) * 1.04], [bottom, top]);
    const of = (keep) => rank.map((_, i) => i).filter((i) => keep(rank[i]));
    const path = (chosen) => dots(chosen.map((i) => x(expected[i])), chosen.map((i) => y(observed[i])));
    const end = Math.min(x.invert(right), y.invert(top));
    return canvas(width, height,
      axisY(y, y.ticks(4), { left, right, label: { text: "observed surprise", y: top - 6 } }),
      axisX(x, x.ticks(5), { top: bottom, bottom, label: { text: "expected of chance", x: right, anchor: "end" } }),
      svg("line", { class: "density", x1: x(0), y1: y(0), x2: x(end), y2: y(end) }),
      svg("path", { class: "dots rest", d: path(of((r) => r > k)) }),
      svg("path", { class: "dots kept", d: path(of((r) => r <= k)) }),
    );
  });
}

// Where the best score of the list lies among those of queries without an answer.
export function gateChart(gate, up) {
  return picture(
    `The best score, ${number(gate.best)}, among those of nonsense: ${share(gate.pvalue)} get as far`,
    (width) => {
      const { left, right, top, bottom, height } = box(width, 190);
      const ends = [Math.min(...gate.grid), Math.max(...gate.grid)];
      const x = linear(up ? ends : ends.reverse(), [left - 30, right]);
      const y = linear([0, Math.max(...gate.share) * 1.1], [bottom, top]);
      const curve = line(gate.grid.map(x), gate.share.map(y));
      const mark = (value, kind, text, row) => {
        const px = x(value), end = px > (left + right) / 2;
        return svg("g", { class: kind },
          svg("line", { x1: px, x2: px, y1: top - 4 + row * 15, y2: bottom }),
          svg("text", { x: px + (end ? -5 : 5), y: top + 4 + row * 15, "text-anchor": end ? "end" : "start" }, text));
      };
      return canvas(width, height,
        axisX(x, x.ticks(5), { top: bottom, bottom, label: { text: up ? "best score" : "best distance", x: right, anchor: "end" } }),
        svg("path", { class: "null-area", d: `${curve}L${x(gate.grid.at(-1))} ${bottom}L${x(gate.grid[0])} ${bottom}Z` }),
        gate.nonsense && svg("path", { class: "dots nonsense", d: dots(gate.nonsense.map(x), gate.nonsense.map((_, i) => bottom - 4 - (i % 5) * 3)) }),
        mark(gate.threshold, "gate-limit", "gate", 1),
        mark(gate.best, "gate-best", "this list", 0),
      );
    },
  );
}

// How many results each method keeps: the share of queries in bins that double.
export function keptChart(run) {
  const row = 46;
  return picture("How many results each method keeps, over all queries", (width) => {
    const narrow = width < 520;
    const left = narrow ? 8 : 148, right = width - 56;
    const bins = run.bins.length - 1;
    const step = (right - left) / bins;
    const names = run.bins.slice(0, -1).map((low, i) => {
      const high = run.bins[i + 1] - 1;
      return high > low ? `${low}–${high}` : `${low}`;
    });
    const every = step < 22 ? 3 : step < 60 ? 2 : 1;
    const height = run.methods.length * row + 40;
    return canvas(width, height,
      run.methods.map((m, j) => {
        const floor = (j + 1) * row, most = Math.max(...m.histogram, 1);
        return svg("g", { class: `c${j % 9}` },
          svg("text", { class: "row-name", x: narrow ? left : left - 12, y: narrow ? floor - row + 12 : floor - 8, "text-anchor": narrow ? "start" : "end" }, m.label),
          svg("line", { class: "base", x1: left, x2: right, y1: floor, y2: floor }),
          m.histogram.map((count, i) => count > 0 && svg("rect", {
            class: `hist${i === 0 ? " none" : ""}`, x: left + i * step + 1, width: Math.max(step - 2, 1),
            y: floor - (count / most) * (row - (narrow ? 22 : 14)), height: (count / most) * (row - (narrow ? 22 : 14)),
          }, svg("title", {}, `${m.label} keeps ${names[i]}: ${whole(count)} queries`))),
          svg("text", { class: "row-value", x: right + 8, y: floor - 8 }, number(m.all?.kept ?? 0, 3)));
      }),
      svg("g", { class: "axis" },
        names.map((name, i) => i % every === 0 && svg("text", { x: left + (i + 0.5) * step, y: height - 20, "text-anchor": "middle" }, every > 1 ? name.split("–").at(-1) : name)),
        svg("text", { class: "caption", x: right, y: height - 4, "text-anchor": "end" }, every > 1 ? "results kept, up to" : "results kept"),
        svg("text", { class: "caption", x: right + 8, y: height - 20 }, "mean")));
  });
}

// Mean recall and precision against the mean number kept: the methods, and one family of cuts.
export function frontierChart(run, frontier, name) {
  return picture(`Mean ${name} against the mean number of results kept`, (width) => {
    const { left, right, top, bottom, height } = box(width, 260);
    const kept = [...frontier.kept, ...run.methods.map((m) => m.kept)].filter((k) => k > 0);
    const x = logarithmic([Math.max(Math.min(...kept) / 1.3, 0.3), Math.max(...kept) * 1.2], [left, right]);
    const y = linear([0, Math.min(1, Math.max(...frontier[name], ...run.methods.map((m) => m[name] ?? 0)) * 1.1)], [bottom, top]);
    return canvas(width, height,
      axisY(y, y.ticks(5), { left, right, label: { text: `mean ${name}`, y: top - 6 } }),
      axisX(x, x.ticks(), { top, bottom, label: { text: "mean results kept", x: right, anchor: "end" } }),
      svg("path", { class: "frontier", d: line(frontier.kept.map(x), frontier[name].map(y)) }),
      run.methods.map((m, j) => m.kept > 0 && m[name] !== undefined && svg("g", { class: `c${j % 9} point` },
        svg("circle", { cx: x(m.kept), cy: y(m[name]), r: 6 }),
        svg("text", { x: x(m.kept), y: y(m[name]) + 3.5, "text-anchor": "middle" }, j + 1),
        svg("title", {}, `${m.label}: keeps ${number(m.kept, 3)}, ${name} ${m[name].toFixed(3)}`))));
  });
}

// The cuts of all methods on one query, as dots on a line of doublings.
export function stripChart(ks, longest) {
  const width = 130, height = 18;
  const x = linear([0, Math.log2(1 + longest)], [7, width - 7]);
  const at = (k) => x(Math.log2(1 + k));
  return svg("svg", { class: "strip", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    svg("line", { class: "base", x1: 4, x2: width - 4, y1: 9, y2: 9 }),
    ks.map((k, j) => svg("circle", { class: `c${j % 9}`, cx: at(k), cy: 9, r: 4 })).reverse());
}
