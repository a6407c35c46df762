declare module "virtual:documents" {
  export interface Document {
    group: string;
    /** its path below docs/, without its ending: "reference/searchers" */
    name: string;
    title: string;
    url: string;
  }
  const documents: Document[];
  export default documents;
}
