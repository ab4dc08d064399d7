// The forms (language, theme, size) in which scenarios run.
import { languages, themes } from './harness.mjs'

const english = { language: 'en-US', theme: 'light', size: 'desk' }
const chinese = { language: 'zh-CN', theme: 'dark', size: 'desk' }

const all = ['desk', 'phone'].flatMap((size) =>
  languages.flatMap((language) => themes.map((theme) => ({ language, theme, size }))),
)

// every: each size, each language and each theme once; all combinations in a full run.
export const every = (full) =>
  full
    ? all
    : [
        { language: 'en-US', theme: 'light', size: 'desk' },
        { language: 'zh-CN', theme: 'dark', size: 'phone' },
      ]

// everyWith adds windows of other widths: narrow (820 px), medium (1024), wide (2560).
export const everyWith =
  (...sizes) =>
  (full) => [...every(full), ...windows(full, sizes)]

// windows: one form for each width; all combinations in a full run.
export const windows = (full, sizes) =>
  sizes.flatMap((size) =>
    full
      ? languages.flatMap((language) => themes.map((theme) => ({ language, theme, size })))
      : [{ language: size === 'medium' ? 'zh-CN' : 'en-US', theme: size === 'narrow' ? 'light' : 'dark', size }],
  )

// few, for slow scenarios: two forms that have nothing in common; all combinations in a full run.
export const few = (full) =>
  full
    ? all
    : [
        { language: 'en-US', theme: 'light', size: 'desk' },
        { language: 'zh-CN', theme: 'dark', size: 'small' },
      ]

// oneInTurn takes the first form at its first call, the second at the second, and so on.
let turn = 0
const oneInTurn = (forms) => [forms[turn++ % forms.length]]

// bothLanguages: each language and each theme once, for scenarios of actions. A short run takes one
// of the two forms in turn, so that half of its scenarios are in each language.
export const bothLanguages = (full) => (full ? [english, chinese] : oneInTurn([english, chinese]))

// bothPhones is the same on phones.
export const bothPhones = (full) => bothLanguages(full).map((form) => ({ ...form, size: 'phone' }))

// once, for scenarios that do not depend on language or theme.
export const once = () => [english]

// inChinese is the same in Chinese and in the dark theme.
export const inChinese = () => [chinese]

// small: the narrowest phone; in a full run in each language.
export const small = (full) =>
  (full ? languages : ['en-US']).map((language) => ({ language, theme: 'light', size: 'small' }))
