/** What the site offers to people without an account. */
import { client, take, type Schemas } from "./api";

let asked: Promise<Schemas["ApiFeaturesReply"]> | undefined;

/** Requests the features once for the page, and again after a failure. Throws Failure. */
export function features(): Promise<Schemas["ApiFeaturesReply"]> {
  asked ??= take(client.GET("/api/public/features")).catch((cause: unknown) => {
    asked = undefined;
    throw cause;
  });
  return asked;
}
