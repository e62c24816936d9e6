// Texts of this section.
export const gradients = {
};
