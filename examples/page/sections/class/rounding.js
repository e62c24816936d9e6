// Whether the drawn formula comes out on a calculator: from the numbers as they are shown, rounded. If it does not, its
// sign on the worksheet is ≈ instead of =.

import { h, fill } from "../../dom.js";
import { explain } from "../../explain.js";

/** The number that a cell shows, or NaN. */
function valueOf(cell) {
  const text = cell.textContent.replace(/−/g, "-").replace("∞", "Infinity");
  return cell.closest("table").classList.contains("percent") ? Number(text) / 100 : Number(text);
}

/** Half a unit of the last digit that a cell shows. */
function halfUnit(cell) {
  const [digits, exponent = "0"] = cell.textContent.replace(/−/g, "-").split("e");
  const half = 0.5 * 10 ** (Number(exponent) - (digits.split(".")[1]?.length ?? 0));
  return cell.closest("table").classList.contains("percent") ? half / 100 : half;
}

/** Does every shown number of the result follow from the shown numbers of the others? The tables are those of
 * equation.js, the result first. */
function comesOut({ shown: { pass } }, [result, ...others]) {
  const cellsOf = ({ element }) => [...element.querySelectorAll("td[data-index]")];
  const cells = new Map(others.map((table) =>
    [table.tensor, new Map(cellsOf(table).map((cell) => [Number(cell.dataset.index), cell]))]));
  const read = ({ tensor, index }) => {
    const cell = cells.get(tensor)?.get(index);
    return cell === undefined ? NaN : valueOf(cell); // NaN: not drawn
  };
  return cellsOf(result).every((cell) => {
    const found = explain(pass, result.tensor, Number(cell.dataset.index));
    const computed = found?.recomputeFrom(read) ?? NaN, value = valueOf(cell);
    return computed === value || Math.abs(computed - value) <= halfUnit(cell) * (1 + 1e-9);
  });
}

/** Marks the sign in the formula in text and between the matrices; returns whether it is ≈ in print. */
export function markRounding(view, equation, formula) {
  const isRounded = !comesOut(view, equation.tables());
  [formula, ...equation.element.querySelectorAll(".symbol[data-symbol^='=']")].forEach((element) => {
    const [before, ...after] = element.textContent.split("=");
    const sign = h(isRounded ? "span.sign.rounded" : "span.sign", {}, "=");
    fill(element, h("span", {}, before, sign, after.join("="))); // one box, which keeps the blanks
  });
  return isRounded;
}
