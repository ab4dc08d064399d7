/** The CORS rules that let pages of a site reach a bucket (docs/stores.md). */

export const formats = ["list", "cli", "xml"] as const;
export type Format = (typeof formats)[number];

/** `list` is for consoles that take JSON, `cli` for the AWS command line, `xml` for other tools. */
export function corsRules(origin: string, format: Format): string {
  const methods = ["GET", "HEAD", "PUT"];
  if (format === "xml") {
    const allowed = methods.map((method) => `    <AllowedMethod>${method}</AllowedMethod>`);
    return [
      "<CORSConfiguration>",
      "  <CORSRule>",
      `    <AllowedOrigin>${origin}</AllowedOrigin>`,
      ...allowed,
      "    <AllowedHeader>*</AllowedHeader>",
      "    <ExposeHeader>ETag</ExposeHeader>",
      "    <MaxAgeSeconds>3600</MaxAgeSeconds>",
      "  </CORSRule>",
      "</CORSConfiguration>",
    ].join("\n");
  }
  const rules = [
    {
      AllowedOrigins: [origin],
      AllowedMethods: methods,
      AllowedHeaders: ["*"],
      ExposeHeaders: ["ETag"],
      MaxAgeSeconds: 3600,
    },
  ];
  const text = JSON.stringify(format === "list" ? rules : { CORSRules: rules }, null, 2);
  return text.replace(/\[\s*("[^\]]*")\s*\]/g, (_, values: string) => `[${values.replace(/,\s+/g, ", ")}]`);
}
