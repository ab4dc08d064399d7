// The place in a folder: Back, Forward and a reload lead to the scroll position and the active
// entry that the user left.
import { createFolder, enter } from './files.mjs'
import { once } from './forms.mjs'
import { becomes, drawn, equal, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { texts as trashTexts } from './trash.mjs'

const two = (n) => String(n).padStart(2, '0')

// folders creates folders by the API, in the session of the page.
export const folders = (page, path, names) =>
  page.evaluate(
    async ({ path, names }) => {
      const { data } = await (await fetch('/api/auth/csrf-token')).json()
      const headers = {
        'X-CSRF-Token': data.token,
        'Content-Type': 'application/json',
      }
      for (const name of names)
        await fetch('/api/files/folder', {
          method: 'POST',
          headers,
          body: JSON.stringify({ path, name }),
        })
    },
    { path, names },
  )

// place is the scroll position, and the names of the active and of the focused entry.
const place = (page) =>
  page.evaluate(() => {
    const name = (element) => element?.closest('[data-index]')?.querySelector('a')?.textContent ?? ''
    return {
      scroll: Math.round(scrollY),
      active: name(document.querySelector('[role=grid] [tabindex="0"]')),
      focused: name(document.activeElement),
    }
  })

// back goes one entry back or forward in the history, and fails unless that leads to a place.
async function leadsTo(page, want, step, what) {
  await step()
  let got
  await until(what, async () => JSON.stringify((got = await place(page))) === JSON.stringify(want), 10_000).catch(() =>
    equal(what, got, want),
  )
}

async function returns(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const files = Array.from({ length: 6 }, (_, n) => ({
    name: `page ${two(n)}.txt`,
    bytes: btoa('words'),
  }))
  const folder = await createFolder(page, config, 'Places', files)
  await folders(
    page,
    folder,
    Array.from({ length: 90 }, (_, n) => `box ${two(n)}`),
  )
  await page.goto(`/app/files${folder}`)
  const entry = (name) => page.getByRole('gridcell', { name, exact: false }).filter({ hasText: name })
  await entry('box 00').waitFor()
  await page.evaluate(() => scrollTo(0, 500))
  await entry('box 50').click()
  const here = await place(page)
  equal('the place', here, {
    scroll: 500,
    active: 'box 50',
    focused: 'box 50',
  })

  await page.keyboard.press('Enter')
  await page.getByText(say.emptyFolder).waitFor()
  equal('the scroll position in another folder', await page.evaluate(() => scrollY), 0)
  await leadsTo(page, here, () => page.goBack(), 'the place after Back')
  await page.goForward()
  await page.getByText(say.emptyFolder).waitFor()
  await leadsTo(page, here, () => page.goBack(), 'the place after Forward and Back')
  await leadsTo(page, { ...here, focused: '' }, () => page.reload(), 'the place after a reload')

  // a tile that the lower edge cuts off
  await until('page 00 in the window', async () => {
    if ((await entry('page 00').count()) > 0) return true
    await page.evaluate(() => scrollBy(0, 200))
    return false
  })
  const edge = await entry('page 00').evaluate((tile) => tile.getBoundingClientRect().top + scrollY + 30 - innerHeight)
  await page.evaluate((edge) => scrollTo(0, edge), Math.round(edge))
  await entry('page 00')
    .getByRole('link')
    .evaluate((link) => link.closest('[data-index]').focus({ preventScroll: true }))
  await entry('page 00').evaluate((tile) =>
    tile.dispatchEvent(new MouseEvent('dblclick', { bubbles: true, cancelable: true })),
  )
  await page.getByRole('dialog').waitFor()
  const seen = {
    scroll: Math.round(edge),
    active: 'page 00.txt',
    focused: 'page 00.txt',
  }
  await leadsTo(page, seen, () => page.goBack(), 'the place after Back out of the viewer')
  await page.goForward()
  await page.getByRole('dialog').waitFor()
  await leadsTo(page, seen, () => page.keyboard.press('Escape'), 'the place after the viewer was closed')

  await page.evaluate(() => scrollTo(0, 500))
  await entry('box 50').click()
  const result = page.locator('[role=row][data-index]').filter({ hasText: 'box 79' })
  await page.getByRole('searchbox').fill('box 7')
  await result.waitFor()
  equal('the scroll position of the results', await page.evaluate(() => scrollY), 0)
  await result.dblclick()
  await page.getByText(say.emptyFolder).waitFor()
  await page.goBack()
  await result.waitFor()
  equal('the active result', (await place(page)).active, 'box 79')
  await leadsTo(page, here, () => page.goBack(), 'the place after Back out of the search')
  await becomes('the text in the field', () => page.getByRole('searchbox').inputValue(), '')
  await page.getByRole('searchbox').fill('box 7')
  await result.waitFor()
  await leadsTo(page, here, () => page.keyboard.press('Escape'), 'the place after the search was left')
}

// Other screens keep their scroll position as well, and a new screen begins at its top.
async function elsewhere(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const names = Array.from({ length: 40 }, (_, n) => `crate ${two(n)}`)
  const folder = await createFolder(page, config, 'Crates', [])
  const gone = await createFolder(page, config, 'Gone', [])
  for (const path of [folder, gone]) await folders(page, path, names)
  await page.evaluate(async (path) => {
    const { data } = await (await fetch('/api/auth/csrf-token')).json()
    const listed = await (await fetch(`/api/files?path=${encodeURIComponent(path)}&limit=100`)).json()
    for (const { id } of listed.data.items)
      await fetch(`/api/files/${id}?trash=true`, { method: 'DELETE', headers: { 'X-CSRF-Token': data.token } })
  }, gone)
  await page.setViewportSize({ width: 1440, height: 520 })
  await page.goto(`/app/files${folder}`)
  await page.getByRole('gridcell', { name: /^crate 00/ }).waitFor()
  const link = (name) => page.getByRole('navigation', { name: say.nav }).getByRole('link', { name, exact: true })
  const scroll = () => page.evaluate(() => Math.round(scrollY))
  const goes = async (name, heading) => {
    await link(name).click()
    await heading.waitFor()
    await drawn(page)
    equal(`the scroll position of ${name}`, await scroll(), 0)
  }
  const trash = page.getByRole('button', { name: trashTexts[config.language].restoreOf('crate 00'), exact: true })
  const keys = page.getByRole('heading', { level: 1, name: say.keys })
  const to = (top) => page.evaluate((top) => scrollTo(0, top), top)

  await to(200)
  await goes(trashTexts[config.language].trash, trash)
  await to(350)
  await goes(say.keys, keys)
  await page.goBack()
  await becomes('the scroll position of the trash after Back', scroll, 350)
  await page.reload()
  await becomes('the scroll position of the trash after a reload', scroll, 350)
  await page.goBack()
  await becomes('the scroll position of the folder after Back', scroll, 200)
  await goes(trashTexts[config.language].trash, trash) // its module is loaded already
}

export const scenarios = [
  { name: 'leads back to the same place', forms: once, run: returns },
  { name: 'leads back to the same place on other screens', forms: once, run: elsewhere },
]
