/** Passwords that are made for somebody. */

/** Letters and digits that are not mistaken for each other when somebody reads them out. */
const signs = "abcdefghjkmnpqrstuvwxyz23456789";

/** A random password of three groups of four signs: 59 bits. */
export function generatePassword(): string {
  const random = new Uint8Array(1);
  const sign = (): string => {
    do crypto.getRandomValues(random);
    while (random[0]! >= 256 - (256 % signs.length)); // each sign is equally likely
    return signs[random[0]! % signs.length]!;
  };
  return Array.from({ length: 3 }, () => Array.from({ length: 4 }, sign).join("")).join("-");
}
