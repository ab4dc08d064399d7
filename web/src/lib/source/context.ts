/** The source of the entries that a screen shows, for the components below it. */
import { createContext } from "svelte";
import type { Source } from "./source";

export const [sourceHere, setSource] = createContext<Source>();
