/** The examination that the pictures of the page wait for. */
import { createContext } from "svelte";
import type { Examination } from "./examination";

export const [examinationHere, setExamination] = createContext<Examination>();
