/**
 * Up to so many columns, SQL has an expression for each. Of more columns, those of one type are gathered in a list, and one expression is for
 * all members of the list: planning so many expressions takes longer than the work itself.
 */
export const FEW_COLUMNS_MAX = 200;
