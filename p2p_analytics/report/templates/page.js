// Tables that sort by a click on a heading and list the rows with a text, and buttons that copy reminders. Without
// this script all rows and texts are shown.
"use strict";
(() => {
  const FEWEST_TO_FILTER = 6;
  const collator = new Intl.Collator("en", {numeric: true}); // line 7 is before line 36
  const fold = text => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const readText = cell => [...cell.childNodes].map(node => node.textContent).join(" ").trim();
  const readNumbers = cell => readText(cell).replace(/(?<=\d),(?=\d{3})/g, ""); // 1,000 is one number
  const read = cell => "key" in cell.dataset ? cell.dataset.key && Number(cell.dataset.key) : readNumbers(cell);
  const compare = (one, other) => typeof one === "number" ? one - other : collator.compare(one, other);

  function sort(rows, column, sign) {
    const values = new Map(rows.map(row => [row, read(row.cells[column])]));
    return [...rows].sort((one, other) => {
      const [a, b] = [values.get(one), values.get(other)];
      return (a === "") - (b === "") || (a === "" ? 0 : sign * compare(a, b)); // missing values are the last
    });
  }

  // A click on a heading sorts by its column, a second one the other way, and a third one as the file does.
  function addSorting(table, rows) {
    const [body] = table.tBodies;
    const headings = [...table.tHead.rows[0].cells];
    const rest = [...body.rows].filter(row => !rows.includes(row));
    const said = table.caption.querySelector(".order") ?? table.caption.appendChild(document.createElement("span"));
    const saidFirst = said.textContent;
    headings.forEach((heading, column) => {
      const isLargestFirst = rows.some(row => row.cells[column].dataset.key) && column > 0;
      const orders = isLargestFirst ? ["descending", "ascending"] : ["ascending", "descending"];
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => {
        const order = orders[orders.indexOf(heading.getAttribute("aria-sort")) + 1];
        headings.forEach(other => other.removeAttribute("aria-sort"));
        if (order) heading.setAttribute("aria-sort", order);
        said.textContent = order ? `, sorted by “${button.textContent}”, ${order}` : saidFirst;
        body.append(...(order ? sort(rows, column, order === "ascending" ? 1 : -1) : rows), ...rest);
      });
      heading.append(button);
    });
    table.classList.add("sortable");
  }

  function addFilter(table, rows) {
    const others = [...table.rows].filter(row => !rows.includes(row) && row.parentNode !== table.tHead);
    const texts = new Map(rows.map(row => [row, fold([...row.cells].map(cell => cell.textContent).join(" "))]));
    const [tools, label, field, status] = ["p", "label", "input", "span"].map(name => document.createElement(name));
    tools.className = "tools";
    field.type = "search";
    field.setAttribute("aria-label", `Filter: ${table.caption.textContent.split(/[,;:]/)[0]}`);
    status.setAttribute("role", "status");
    field.addEventListener("input", () => {
      const words = fold(field.value).split(/\s+/).filter(word => word);
      const found = rows.filter(row => words.every(word => texts.get(row).includes(word)));
      rows.forEach(row => row.classList.toggle("out", !found.includes(row)));
      others.forEach(row => row.classList.toggle("out", words.length > 0)); // which are sums of more than is shown
      status.textContent = words.length ? `${found.length} of ${rows.length} rows` : "";
    });
    label.append("Filter ", field);
    tools.append(label, " ", status);
    table.before(tools);
  }

  function addCopyButton(text) {
    const [button, status] = ["button", "span"].map(name => document.createElement(name));
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${text.textContent.slice(0, 60)}`);
    status.setAttribute("role", "status");
    button.addEventListener("click", async () => {
      getSelection().selectAllChildren(text);
      try {
        await navigator.clipboard.writeText(text.textContent);
        status.textContent = "Copied";
      } catch { // the browser does not permit it
        status.textContent = "Selected: press Ctrl+C";
      }
    });
    text.after(" ", button, " ", status);
  }

  document.querySelectorAll(".reminders bdi").forEach(addCopyButton);
  for (const table of document.querySelectorAll("table")) {
    const rows = [...table.tBodies[0].rows].filter(row => !row.classList.contains("rest"));
    if (rows.length > 1) addSorting(table, rows);
    if (rows.length >= FEWEST_TO_FILTER) addFilter(table, rows);
  }
})();
