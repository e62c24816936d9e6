// Texts of this section.
export const explaining = {
};
