// As much of a browser as modules need when they are loaded.
const address = new URL("http://host/prefix/det/experiments/7?q=a");
globalThis.document = { baseURI: "http://host/prefix/det/", hidden: false, documentElement: { dataset: {} } };
globalThis.location = address;
globalThis.localStorage = undefined;
