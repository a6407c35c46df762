declare module "virtual:documents" {
  export interface Document {
    group: string;
    /** the document's path below docs/, without its ending: "reference/searchers" */
    name: string;
    title: string;
    url: string;
  }
  const documents: Document[];
  export default documents;
}
