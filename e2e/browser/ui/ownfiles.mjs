// "Files" leads to the folder that the account opens first, from every screen.
import { createFolder, enter } from './files.mjs'
import { becomes, equal, isPhone } from './harness.mjs'
import { labels, signIn } from './labels.mjs'
import { api } from './stranger.mjs'

const forms = () => [
  { language: 'en-US', theme: 'light', size: 'desk' },
  { language: 'en-US', theme: 'light', size: 'narrow' },
  { language: 'zh-CN', theme: 'dark', size: 'phone' },
]

const path = (page) => decodeURIComponent(new URL(page.url()).pathname)

// goes follows the link to the files from two screens and from a folder deep in the tree.
async function goes(page, config, folder, below) {
  const say = labels[config.language]
  const nav = page.getByRole('navigation', { name: say.nav, exact: true })
  const files = nav.getByRole('link', { name: say.myFiles, exact: true })
  const opens = async (from) => {
    await files.click()
    await becomes(`the folder after ${from}`, () => path(page), `/app/files${folder}`)
    await becomes('the mark of the screen', () => files.getAttribute('aria-current'), 'page')
  }
  if (isPhone(config.size)) {
    await nav.getByRole('button', { name: say.pages, exact: true }).click()
    await page.getByRole('menuitem', { name: say.shares }).click()
  } else await nav.getByRole('link', { name: say.shares, exact: true }).click()
  await page.waitForURL('**/app/shares')
  await becomes('the mark of another screen', () => files.getAttribute('aria-current'), null)
  await opens('the shares')
  await page.goto(`/app/files${below}`)
  await page.getByText(say.emptyFolder).waitFor()
  await becomes('the mark in another folder', () => files.getAttribute('aria-current'), 'page')
  await opens('another folder')
  await page.goto('/app/nowhere')
  await page.getByRole('link', { name: say.toFiles, exact: true }).click()
  await becomes('the folder after a page that does not exist', () => path(page), `/app/files${folder}`)
}

async function user(page, config) {
  const username = await config.ask('createAccount', { locale: config.language })
  const home = `/home/${username}`
  await page.goto('/app/login')
  await signIn(page, { ...config, username })
  await page.waitForURL((url) => url.pathname.startsWith('/app/files'))
  equal('the folder after the sign-in', path(page), `/app/files${home}`)
  await createFolder(page, config, 'Letters', [], home)
  await createFolder(page, config, 'Old', [], `${home}/Letters`)
  await goes(page, config, home, `${home}/Letters/Old`)
  await api(page, 'PUT', '/api/users/me/settings', { defaultPath: `${home}/Letters` })
  await page.reload()
  await goes(page, config, `${home}/Letters`, `${home}/Letters/Old`)
}

async function administrator(page, config) {
  await enter(page, config, '')
  const name = `Own ${config.size}`
  await createFolder(page, config, name, [])
  await goes(page, config, `/home/${config.username}`, `/home/${config.username}/${name}`)
}

export const scenarios = [
  { name: 'Files leads a user to the own folder', forms, run: user },
  { name: 'Files leads an administrator to the own folder', forms, run: administrator },
]
