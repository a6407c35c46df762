// Members of a group.

/** Who is added and who is removed, by what was chosen: others may have changed the group meanwhile, and their changes stay. */
export const difference = (before: number[], after: ReadonlySet<number>) => ({
  addUsers: [...after].filter((id) => !before.includes(id)),
  removeUsers: before.filter((id) => !after.has(id)),
});
