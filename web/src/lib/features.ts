/** The features of the site, which every visitor may read. */
import { client, take, type Schemas } from "./api";

let asked: Promise<Schemas["ApiFeaturesReply"]> | undefined;

/**
 * Requests the features once for the page; anew after a failure or with `again`. Throws Failure.
 */
export function features(again = false): Promise<Schemas["ApiFeaturesReply"]> {
  if (again) asked = undefined;
  asked ??= take(client.GET("/api/public/features")).catch((cause: unknown) => {
    asked = undefined;
    throw cause;
  });
  return asked;
}
