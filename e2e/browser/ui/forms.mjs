// The forms (language, theme, size) in which scenarios run.
import { languages, themes } from './harness.mjs'

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

// bothLanguages: each language and each theme once, for scenarios of actions.
export const bothLanguages = () => [
  { language: 'en-US', theme: 'light', size: 'desk' },
  { language: 'zh-CN', theme: 'dark', size: 'desk' },
]

// once, for scenarios that do not depend on language or theme.
export const once = () => [{ language: 'en-US', theme: 'light', size: 'desk' }]

// small: the narrowest phone; in a full run in each language.
export const small = (full) =>
  (full ? languages : ['en-US']).map((language) => ({ language, theme: 'light', size: 'small' }))
