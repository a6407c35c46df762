import { root } from "@shared/lib/address";
import type { AnyTask } from "./kinds";

/** Where a browser reaches a task: below the master's root, whatever prefix that has. The master's page there waits until the task answers. */
export function addressOf({ id, serviceAddress }: AnyTask): string {
  const path = serviceAddress?.startsWith("/proxy/") ? serviceAddress : `/proxy/${id}/`;
  return new URL(path.slice(1), root).href;
}

