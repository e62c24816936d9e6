// Texts of this section.
export const breaks = {
};
