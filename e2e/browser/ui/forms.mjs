// In what forms scenarios run.
import { languages, themes } from './harness.mjs'

const all = ['desk', 'phone'].flatMap((size) => languages.flatMap((language) => themes.map((theme) => ({ language, theme, size }))))

// every is what screens are looked at in: each size with each language and each theme, in a full run all of them together.
export const every = (full) => (full ? all : all.filter(({ language, theme, size }) => (language === 'en-US') === ((theme === 'light') === (size === 'desk'))))

// few is what is looked at where that takes long: two that have nothing in common, in a full run all of them.
export const few = (full) => (full ? all : [{ language: 'en-US', theme: 'light', size: 'desk' }, { language: 'zh-CN', theme: 'dark', size: 'small' }])

// spoken is each language and each theme once: what is done.
export const spoken = () => [
  { language: 'en-US', theme: 'light', size: 'desk' },
  { language: 'zh-CN', theme: 'dark', size: 'desk' },
]

// once is for what no language and no theme can change.
export const once = () => [{ language: 'en-US', theme: 'light', size: 'desk' }]

// small is the narrowest phone, which no theme can change, in a full run in each language.
export const small = (full) => (full ? languages : ['en-US']).map((language) => ({ language, theme: 'light', size: 'small' }))
