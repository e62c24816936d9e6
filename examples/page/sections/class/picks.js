// Of large matrices, the rows and columns that are drawn: those of the words that matter.

const LIKELIEST = 10; // words shown of a row of logits

/** The likeliest words after the row that is shown, and the word that really follows. */
function likeliest({ shown, row }) {
  const { tensor } = shown.find("logits"), { shape, values } = shown.pass.tensors[tensor], width = shape[1];
  const order = Array.from({ length: width }, (_, i) => i);
  const best = order.sort((a, b) => values[row * width + b] - values[row * width + a]).slice(0, LIKELIEST);
  const follows = shown.sentence.ids[row + 1];
  return follows === undefined || best.includes(follows) ? best : [...best, follows];
}

/** {pickRows, pickColumns} of matrix.js for the matrix with this name (cells.js: base), undefined: all. */
export function picksOf(view, base) {
  if (base === "we") { // those of the sentence, as in the formula
    const { ids } = view.shown.sentence;
    return { pickRows: view.allWords ? undefined : [...new Set(ids.slice(0, view.shown.tokens.length))] };
  }
  if (view.allWords) {
    return {};
  }
  switch (base) {
    case "logits": return { pickColumns: likeliest(view) };
    case "fc_layer.weight": return { pickRows: likeliest(view) };
    case "fc_layer.bias": return { pickColumns: likeliest(view) };
    default: return {};
  }
}
