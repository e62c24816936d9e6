// Texts of this section.
export const own = {
};
