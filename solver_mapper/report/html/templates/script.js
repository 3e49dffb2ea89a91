"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("solver-mapper-theme"); } catch { return null; } };
  const store = (value) => { try { localStorage.setItem("solver-mapper-theme", value); } catch { /* private files have no storage */ } };
  if (stored()) root.dataset.theme = stored();

  const colours = () => {
    const style = getComputedStyle(root);
    return { ink: style.getPropertyValue("--ink").trim(), line: style.getPropertyValue("--line").trim(),
             panel: style.getPropertyValue("--panel").trim() };
  };
  const themed = (layout) => {
    const { ink, line, panel } = colours();
    const axis = { gridcolor: line, zerolinecolor: line, linecolor: ink, tickcolor: ink };
    return { ...layout, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: ink, size: 13 }, hoverlabel: { bgcolor: panel, bordercolor: ink, font: { color: ink } },
      xaxis: { ...layout.xaxis, ...axis }, yaxis: { ...layout.yaxis, ...axis },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: line, activecolor: ink },
      shapes: (layout.shapes || []).map((shape) => ({ ...shape, line: { ...shape.line, color: ink } })) };
  };

  const drawn = [];
  const draw = (script) => {
    const place = document.getElementById(script.dataset.chart);
    const { data, layout } = JSON.parse(script.textContent);
    place.replaceChildren();
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", place.closest("figure").querySelector("figcaption").textContent.trim());
    if (innerWidth < 600 && data.length > 3) layout.height += 20 * data.length; // the legend is a column
    Plotly.newPlot(place, data, themed(layout), { responsive: true, displaylogo: false, displayModeBar: innerWidth > 600 ? "hover" : false });
    drawn.push([place, layout]);
  };
  const recolour = () => drawn.forEach(([place, layout]) => Plotly.relayout(place, themed(layout)));
  const unpack = async (packed) => {
    const bytes = Uint8Array.from(atob(packed), (each) => each.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const library = document.createElement("script");
    library.textContent = await new Response(stream).text();
    document.head.append(library);
    document.querySelectorAll("script[data-chart]").forEach(draw);
  };
  const packed = document.getElementById("plotly");
  window.chartsDrawn = packed && window.DecompressionStream ? unpack(packed.textContent) : null;

  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    store(root.dataset.theme);
    recolour();
  });
  dark.addEventListener("change", recolour);
  let before;
  addEventListener("beforeprint", () => { before = root.dataset.theme; root.dataset.theme = "light"; recolour();
    document.querySelectorAll("details:not(.data)").forEach((each) => { each.open = true; }); });
  addEventListener("afterprint", () => { if (before) root.dataset.theme = before; else delete root.dataset.theme; recolour(); });

  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const order = (a, b, sign) => {
    if (a === b) return 0;
    if (a === null) return 1;
    if (b === null) return -1;
    const both = typeof a === "number" && typeof b === "number";
    return sign * (both ? a - b : compare(String(a), String(b)));
  };
  const key = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.key !== undefined) return Number(cell.dataset.key);
    return cell.textContent.trim() || null;
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    table.querySelectorAll("thead button").forEach((button) => {
      button.addEventListener("click", () => {
        const head = button.closest("th");
        const column = head.cellIndex;
        const rising = head.getAttribute("aria-sort") !== "ascending";
        table.querySelectorAll("th").forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [key(row, column), row]);
        rows.sort(([a], [b]) => order(a, b, rising ? 1 : -1));
        body.append(...rows.map(([, row]) => row));
      });
    });
  });
})();
