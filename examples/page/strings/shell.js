// Texts of the frame around the sections.
export const shell = {
  "title": ["Attention, number by number", "Attention, Zahl für Zahl", "L’attention, nombre par nombre"],
  "tab.class": ["The class", "Die Klasse", "La classe"],
  "tab.training": ["Training", "Training", "Entraînement"],
  "tab.gradients": ["Gradients", "Gradienten", "Gradients"],
  "tab.breaks": ["Break it", "Mach es kaputt", "Casser"],
  "tab.own": ["Your own", "Eigenes", "À vous"],
};
