/** The sentences of the error codes that the interface lists. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Interface {
  paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
}
const { paths } = JSON.parse(readFileSync("openapi.json", "utf8")) as Interface;

/** The error codes of the interface, each with the operations that answer it. */
const operations: Record<string, string[]> = {};
for (const [path, methods] of Object.entries(paths))
  for (const [method, { responses }] of Object.entries(methods))
    for (const [status, { description }] of Object.entries(responses))
      if (status >= "400")
        for (const code of description.split(", ")) (operations[code] ??= []).push(`${method.toUpperCase()} ${path}`);

/** The codes that only screens with sentences of their own meet. */
const own: Record<string, RegExp> = {
  INVALID_CREDENTIALS: /^POST \/api\/auth\/login$/, // the sign-in
  EMAIL_NOT_VERIFIED: /^POST \/api\/auth\/login$/,
  // the registration, the settings and the test of the administration
  MAIL_ERROR: /^POST \/api\/(auth\/register|users\/me\/email\/send-otp|admin\/settings\/test-email)$/,
  // the page of a share; no page requests /oembed, and the browser saves downloads by a token
  SHARE_EXPIRED: /^(GET|POST) \/api\/(shares\/\{id\}|public\/oembed|gateway\/)/,
  SHARE_REVOKED: /^(GET|POST) \/api\/(shares\/\{id\}|public\/oembed|gateway\/)/,
  SHARE_LIMIT_REACHED: /^(GET|POST) \/api\/(shares\/\{id\}|public\/oembed|gateway\/)/,
};

const chinese = /\p{Script=Han}/u;

test.each(["en-US", "zh-CN"])("each error code has a sentence in %s", async (language) => {
  const { failures } = (await import(`../src/messages/${language}/common.ts`)) as { failures: Record<string, string> };
  const { login } = (await import(`../src/messages/${language}/login.ts`)) as { login: Record<string, string> };
  const { credentials } = (await import(`../src/messages/${language}/credentials.ts`)) as {
    credentials: { noMail: string };
  };
  const { settings } = (await import(`../src/messages/${language}/settings.ts`)) as {
    settings: { mailFailed: string };
  };
  const { share } = (await import(`../src/messages/${language}/share.ts`)) as {
    share: { ended: Record<string, string> };
  };

  const codes = Object.keys(operations);
  expect(codes).toContain("VALIDATION_ERROR");
  expect(codes.filter((code) => !failures[code]).sort()).toEqual(Object.keys(own).sort());
  for (const [code, screens] of Object.entries(own)) {
    expect(operations[code]!.filter((operation) => !screens.test(operation))).toEqual([]);
  }
  expect(Object.keys(share.ended)).toEqual(
    expect.arrayContaining(["SHARE_EXPIRED", "SHARE_REVOKED", "SHARE_LIMIT_REACHED"]),
  );
  const texts = [...Object.values(failures), ...Object.values(share.ended)];
  texts.push(login.wrong!, login.unverified!, credentials.noMail, settings.mailFailed);
  for (const text of texts) expect(chinese.test(text), text).toBe(language === "zh-CN");
});
