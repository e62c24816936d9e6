// Of large matrices, the rows and columns that are drawn: those of the words that matter.

const LIKELIEST = 10; // words shown of a row of logits

/** The likeliest words after the row that is shown, and the word that really follows. */
function likeliest({ shown, row }) {
  const { shape: [, width], values } = shown.find("logits");
  const order = Array.from({ length: width }, (_, i) => i);
  const best = order.sort((a, b) => values[row * width + b] - values[row * width + a]).slice(0, LIKELIEST);
  const follows = shown.sentence.ids[row + 1];
  return follows === undefined || best.includes(follows) ? best : [...best, follows];
}

/** {pickRows, pickColumns} of matrix.js for the matrix with this name (lines.js: base), undefined: all. */
export function picksOf(view, base) {
  const words = () => (view.backward ? [...new Set(view.shown.sentence.ids.slice(1))] : likeliest(view)); // with gradients
  switch (base) {
    case "we": return { pickRows: [...new Set(view.shown.sentence.ids.slice(0, view.shown.tokens.length))] }; // as in the formula
    case "logits": case "fc_layer.bias": return { pickColumns: words() };
    case "fc_layer.weight": return { pickRows: words() };
    default: return {};
  }
}
