// Members of a group.

/** The users to add and to remove: only those whose box was changed, so that what others have changed meanwhile stays. */
export const difference = (before: number[], after: ReadonlySet<number>) => ({
  addUsers: [...after].filter((id) => !before.includes(id)),
  removeUsers: before.filter((id) => !after.has(id)),
});
