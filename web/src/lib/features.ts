/** The features of the site, which every visitor may read. */
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
