export function DesignPage() { return <p>design</p>; }
