// Nothing is gone, as one story by visible labels: a picture that a WebDAV client overwrites comes
// back behind the same link, a folder comes back from the trash, and then to an earlier time.
import { enter } from './files.mjs'
import { once } from './forms.mjs'
import { becomes, equal, give } from './harness.mjs'
import { labels } from './labels.mjs'
import { fromMenu } from './panels.mjs'
import { serverNow, texts as pastTexts } from './past.mjs'
import { png } from './pictures.mjs'
import { arrived, look } from './stranger.mjs'
import { texts as trashTexts } from './trash.mjs'
import { bytesAt, texts as versionTexts } from './versions.mjs'

const say = labels['en-US']
const trash = trashTexts['en-US']
const versions = versionTexts['en-US']
const past = pastTexts['en-US']

const folder = 'Album'
const pictures = [1, 2, 3].map((n) => ({
  name: `lake ${n}.png`,
  mimeType: 'image/png',
  buffer: png(120, 80, n / 9),
}))
const [first, second, third] = pictures.map(({ name }) => name)
const overwritten = png(200, 80, 0.8)

const button = (scope, name) => scope.getByRole('button', { name, exact: true })
const tile = (page, name) => page.getByRole('link', { name: new RegExp(`^${name}`) })
const go = (page, section) =>
  page.getByRole('navigation', { name: say.nav, exact: true }).getByRole('link', { name: section, exact: true }).click()
const widthOf = (page, name) =>
  page
    .getByRole('gridcell', { name: new RegExp(`^${name}`) })
    .locator('img')
    .evaluate((image) => image.naturalWidth)

// A folder with pictures; the first one has a permanent link, which it returns.
async function fills(page, config) {
  for (const name of [say.homes, config.username]) await page.getByRole('link', { name, exact: true }).dblclick()
  await button(page, say.newFolder).click()
  await page.getByRole('textbox', { name: say.folderName }).fill(folder)
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: folder, exact: true }).dblclick()
  await page.getByText(say.emptyFolder).waitFor()
  await give(page, () => button(page.getByRole('main'), say.upload).first().click(), pictures)
  await page.getByRole('heading', { name: say.uploaded(pictures.length) }).waitFor()
  await arrived(page, pictures.length)
  await tile(page, first).click()
  await button(page, say.link).click()
  const panel = page.getByRole('dialog', { name: say.link })
  await button(panel, say.makePermanent).click()
  await panel.getByRole('tab', { name: 'Markdown' }).click()
  const [, link] = /\((.*)\)/.exec(await panel.getByLabel(say.linkText).inputValue())
  await button(panel, say.close).click()
  return link
}

// A key for a drive, whose id and secret it returns.
async function makesKey(page) {
  await go(page, say.keys)
  await button(page, say.newKey).first().click()
  const form = page.getByRole('dialog', { name: say.newKeyTitle })
  await form.getByRole('radio', { name: 'Drive' }).check()
  await form.getByLabel(say.keyName, { exact: true }).fill('laptop')
  await button(form, say.createKey).click()
  const sheet = page.getByRole('dialog', { name: say.saveNow })
  const token = await sheet.getByLabel(say.token, { exact: true }).inputValue()
  await sheet.getByLabel(say.haveSaved).check()
  await button(sheet, say.close).click()
  return token.split('.')
}

// A drive overwrites a picture while its folder is on the screen, and its version comes back.
async function getsBack(page, config, { link, key, path }) {
  const watched = page.waitForResponse((response) => response.url().includes('/api/files/revision?'))
  await page.goto(`/app/files${path}`)
  await arrived(page, pictures.length)
  await watched // the page notices changes from now on
  const answer = await fetch(`${config.base}/webdav${path}/${encodeURIComponent(first)}`, {
    method: 'PUT',
    headers: { Authorization: `Basic ${btoa(key.join(':'))}`, 'Content-Type': 'image/png' },
    body: overwritten,
  })
  equal('the status of the PUT', answer.status, 204)
  equal('the bytes behind the link', await bytesAt(page, config, link), overwritten.toString('base64'))
  await becomes('the width of the tile', () => widthOf(page, first), 200) // the page notices it

  await fromMenu(page, say, new RegExp(`^${first}`), say.details)
  const list = page.getByRole('list', { name: versions.versions })
  await list.getByText(versions.replaced).waitFor()
  await list.getByRole('button', { name: versions.compare }).click()
  const dialog = page.getByRole('dialog', { name: versions.compareTitle(first) })
  await look(page, config, 'history-1-compared')
  await button(dialog, versions.restore).click()
  await page.getByText(versions.restored(first)).waitFor()
  equal('the bytes behind the same link', await bytesAt(page, config, link), pictures[0].buffer.toString('base64'))
  await becomes('the width of the tile', () => widthOf(page, first), 120)
}

// The folder is deleted by mistake, found in the trash, and restored with its link.
async function findsFolder(page, config, { link, parent }) {
  await page.goto(`/app/files${parent}`)
  await page.getByRole('link', { name: folder, exact: true }).click()
  await page.keyboard.press('Delete')
  await page.getByText(trash.inTrash(folder)).waitFor()
  await page.reload() // no Undo any more
  await page.getByText(say.emptyFolder).waitFor()
  equal('the status of the link', (await fetch(link)).status, 404)
  await go(page, trash.trash)
  await page.getByRole('searchbox', { name: trash.search }).fill('alb')
  await button(page, trash.restoreOf(folder)).click()
  await page.getByText(trash.restored(folder, config.username)).waitFor()
  await look(page, config, 'history-2-restored')
  await button(page, trash.show).click()
  await arrived(page, pictures.length)
  equal('the bytes behind the link', await bytesAt(page, config, link), pictures[0].buffer.toString('base64'))
}

// The folder is changed in several ways, looked at as it was, and brought back.
async function bringsBack(page, config, { path }) {
  const then = await serverNow(page, path)
  await fromMenu(page, say, new RegExp(`^${second}`), say.rename)
  await page.getByLabel(say.newName).fill('mistake.png')
  await page.keyboard.press('Enter')
  await tile(page, 'mistake.png').waitFor()
  await tile(page, third).click()
  await page.keyboard.press('Delete')
  await page.getByText(trash.inTrash(third)).waitFor()
  const later = { ...pictures[0], name: 'later.png' }
  await give(page, () => button(page.getByRole('main'), say.upload).first().click(), later)
  await tile(page, 'later.png').waitFor()

  await page.getByRole('button', { name: say.display }).click()
  await page.getByRole('menuitem', { name: past.earlier }).click()
  await page.getByRole('slider', { name: past.time }).fill(String(then))
  const table = page.getByRole('table', { name: past.list })
  const row = (name) => table.getByRole('row').filter({ hasText: name })
  await row(first).getByText(past.states.same).waitFor()
  await row(second).getByText(past.states.moved).waitFor()
  await row(third).getByText(past.states.trashed).waitFor()
  equal('the rows', await table.locator('tbody tr').count(), pictures.length)
  await look(page, config, 'history-3-earlier')
  await page.getByRole('button', { name: past.bring }).click()
  const dialog = page.getByRole('dialog', { name: past.bringTitle(folder) })
  await button(dialog, past.bringNow).click()
  await page.getByText(past.brought(folder)).waitFor()
  await page.getByRole('link', { name: past.leave }).click()
  for (const { name } of pictures) await tile(page, name).waitFor()
  for (const name of ['mistake.png', 'later.png']) equal(name, await tile(page, name).count(), 0)
  await look(page, config, 'history-4-back')
}

async function losesNothing(page, config) {
  const parent = `/home/${config.username}`
  const path = `${parent}/${folder}`
  await enter(page, config, '')
  const link = await fills(page, config)
  const key = await makesKey(page)
  await serverNow(page, path)
  await getsBack(page, config, { link, key, path })
  await findsFolder(page, config, { link, parent })
  await bringsBack(page, config, { path })
}

export const scenarios = [{ name: 'nothing is gone', forms: once, run: losesNothing }]
