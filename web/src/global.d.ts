/// <reference types="vite/client" />

declare module "lucide:*" {
  /** What is inside the svg element of an icon, for `Icon`. */
  const shape: string;
  export default shape;
}

interface Window {
  /** Requests that src/boot.js has begun, by address. */
  larderBoot?: Record<string, Promise<Response> | undefined>;
}
