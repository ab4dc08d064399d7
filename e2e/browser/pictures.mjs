// Takes the pictures of the README from a new site: an account uploads photographs, and the pages
// are taken when the server has examined all of them and every visible tile is loaded.
//
//     node pictures.mjs BASE PHOTOGRAPHS DIRECTORY
//
// BASE is the address of the site; its administrator is `admin` with the password in PASSWORD.
// PHOTOGRAPHS is a directory of JPEG files, some of them in folders. The pictures go to DIRECTORY.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolder, enter } from './ui/files.mjs'
import { launch, open, until } from './ui/harness.mjs'
import { labels } from './ui/labels.mjs'

const [base, photographs, to] = process.argv.slice(2)
const password = process.env.PASSWORD
const say = labels['en-US']
const ann = { language: 'en-US', username: 'ann', password }
const patience = 300_000

// createAccount creates the account of the pictures, as the administrator.
async function createAccount(browser) {
  const page = await open(browser, { base })
  const call = async (method, path, data, headers) => {
    const answer = await page.request.fetch(path, { method, data, headers })
    if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${await answer.text()}`)
    return (await answer.json()).data
  }
  await call('POST', '/api/auth/login', { username: 'admin', password })
  const { token } = await call('GET', '/api/auth/csrf-token')
  const user = { username: ann.username, email: 'ann@example.org', password, role: 'user' }
  await call('POST', '/api/admin/users', user, { 'X-CSRF-Token': token })
  await page.context().close()
}

// upload uploads the files of a directory and of the directories in it, and returns the folder.
async function upload(page, directory, name, parent) {
  const entries = await readdir(directory, { withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.jpg'))
  const contents = files.map(async (file) => ({
    name: file.name,
    bytes: await readFile(join(directory, file.name), 'base64'),
  }))
  const folder = await createFolder(page, ann, name, await Promise.all(contents), parent)
  for (const below of entries.filter((entry) => entry.isDirectory()))
    await upload(page, join(directory, below.name), below.name, folder)
  return folder
}

// examined waits until the server knows the proportions of all pictures.
const examined = (page) =>
  until(
    'the examination of the pictures',
    () =>
      page.evaluate(async () => {
        const { months } = (await (await fetch('/api/files/timeline')).json()).data
        return months.length > 0 && months.every(({ ratios }) => !ratios.includes(0))
      }),
    patience,
  )

// loaded returns the number of images in the window, or 0 while one of them, or the image of a
// photograph's tile, is missing.
const loaded = (page) =>
  page.evaluate(() => {
    const visible = (element) => {
      const { top, bottom, width } = element.getBoundingClientRect()
      return element.checkVisibility({ visibilityProperty: true }) && width > 0 && bottom > 0 && top < innerHeight
    }
    const complete = (image) => image.complete && image.naturalWidth > 0
    const images = [...document.images].filter(visible)
    const tiles = [...document.querySelectorAll('[role=gridcell]')].filter(
      (cell) => visible(cell) && cell.innerHTML.includes('.jpg'),
    )
    const still = document.getAnimations().every(({ playState }) => playState !== 'running')
    const all = images.every(complete) && tiles.every((tile) => [...tile.querySelectorAll('img')].some(complete))
    return all && still && document.fonts.status === 'loaded' ? images.length : 0
  })

// take takes a picture of the page when the number of its loaded images has not changed for two
// seconds and is `least` or more.
async function take(page, name, least) {
  let count = 0
  let since = Date.now()
  await until(
    `the images of ${name}`,
    async () => {
      const now = await loaded(page)
      if (now < least || now !== count) since = Date.now()
      count = now
      return Date.now() - since > 2000
    },
    patience,
  )
  // The pointer rests where nothing reacts to it.
  await page.mouse.move(700, 899)
  await page.screenshot({ path: join(to, `${name}.jpg`), type: 'jpeg', quality: 88 })
}

const browser = await launch()
try {
  await createAccount(browser)
  const light = await open(browser, { base, theme: 'light' })
  await enter(light, ann, '')
  const folder = await upload(light, photographs, 'Pictures', '/home/ann')
  await examined(light)

  await light.goto('/app/photos')
  await light.getByRole('heading', { level: 1, name: 'Photos' }).waitFor()
  await take(light, 'web-photos', 10)

  await light.goto(`/app/files${folder}`)
  await light.getByRole('link', { name: /^beach\.jpg/ }).waitFor()
  await take(light, 'web', 10)

  const storageState = await light.context().storageState()
  const dark = await open(browser, { base, theme: 'dark', storageState })
  await dark.goto(`/app/files${folder}`)
  await dark.getByRole('link', { name: /^lavender\.jpg/ }).waitFor()
  await dark.getByRole('link', { name: /^red desert\.jpg/ }).dblclick()
  const viewer = dark.getByRole('dialog').first()
  await viewer.locator('img').filter({ visible: true }).first().waitFor()
  const details = viewer.getByRole('button', { name: say.details, exact: true })
  if (await details.isVisible()) await details.click()
  await take(dark, 'web-viewer', 1)

  const faults = [...light.faults(), ...dark.faults()]
  if (faults.length > 0) throw new Error(faults.join('\n'))
} finally {
  await browser.close()
}
