// Texts of this section.
export const classroom = {
};
