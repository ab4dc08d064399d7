/// <reference types="vite/client" />

declare module "lucide:*" {
  /** The content of an icon's svg element, for `Icon`. */
  const shape: string;
  export default shape;
}

interface Window {
  /** Requests that src/boot.js has started, by address. */
  larderBoot?: Record<string, Promise<Response> | undefined>;
}
