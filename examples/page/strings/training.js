// Texts of this section.
export const training = {
};
