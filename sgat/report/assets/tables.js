// Tables whose rows are put in order by a press on the title of a column.

function valueOf(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value ?? cell.textContent;
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const { compare } = new Intl.Collator("en", { numeric: true });
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const isUp = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
      const sign = isUp ? 1 : -1;
      const rows = [...body.rows].map((row) => ({ row, value: valueOf(row, column) }));
      rows.sort((a, b) => sign * (a.value - b.value || compare(a.value, b.value)));
      body.append(...rows.map(({ row }) => row));
    });
  });
}
