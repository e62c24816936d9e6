// Points with many coordinates as points of the plane in which they differ most.

const STEPS = 500; // of the iteration: far more than its limit needs

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

/** The first two principal components of points (lists of numbers): {points: [[x, y]], axes: the two directions, of
 * length 1, shares: of the variance}. */
export function principal(points) {
  const size = points[0].length;
  const mean = points[0].map((_, i) => points.reduce((sum, p) => sum + p[i], 0) / points.length);
  const centred = points.map((p) => p.map((value, i) => value - mean[i]));
  const spread = Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) =>
    centred.reduce((sum, p) => sum + p[i] * p[j], 0)));
  const total = spread.reduce((sum, row, i) => sum + row[i], 0);
  // Orthogonal iteration: both directions are multiplied by the covariances; the second is kept upright to the first.
  let axes = [0, 1].map((shift) => Array.from({ length: size }, (_, i) => 1 / (1 + ((i + shift * 5) % size))));
  const unit = (v) => v.map((value) => value / Math.sqrt(dot(v, v)));
  for (let step = 0; step < STEPS; step++) {
    const [first, second] = axes.map((axis) => spread.map((row) => dot(row, axis)));
    const one = unit(first), along = dot(second, one);
    axes = [one, unit(second.map((value, i) => value - along * one[i]))];
  }
  // A direction and its opposite are the same component: the largest coordinate is positive.
  axes = axes.map((axis) => {
    const most = axis.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
    return axis.map((value) => value * Math.sign(most));
  });
  return { points: centred.map((p) => axes.map((axis) => dot(p, axis))), axes,
    shares: axes.map((axis) => dot(axis, spread.map((row) => dot(row, axis))) / total) };
}
