// Versions: "I overwrite a picture, and get yesterday's back; its link is the same."
import { api } from './stranger.mjs'
import { createFolder, enter } from './files.mjs'
import { bothLanguages, small } from './forms.mjs'
import { becomes, equal, inspect, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { fromMenu } from './panels.mjs'
import { cramped } from './phone.mjs'
import { png } from './pictures.mjs'

export const texts = {
  'en-US': {
    versions: 'Versions',
    none: 'This file has not been replaced recently.',
    replaced: /^Replaced .* by you$/,
    compare: 'Compare',
    compareTitle: (name) => `Two versions of “${name}”`,
    before: 'Version',
    present: 'Now',
    restore: 'Restore',
    restored: (name) => new RegExp(`^“${name}” has the content of .* again\\.$`),
    download: /^Download the version of/,
    drop: /^Delete the version of/,
    dropTitle: /^Delete the version of .*\?$/,
    dropNow: 'Delete for good',
  },
  'zh-CN': {
    versions: '历史版本',
    none: '此文件最近没有被替换过。',
    replaced: /被您替换$/,
    compare: '对比',
    compareTitle: (name) => `“${name}”的两个版本`,
    before: '旧版本',
    present: '当前版本',
    restore: '恢复此版本',
    restored: (name) => new RegExp(`^“${name}”已恢复为 .* 的内容。$`),
    download: /^下载 .* 的版本$/,
    drop: /^永久删除 .* 的版本$/,
    dropTitle: /^永久删除 .* 的版本？$/,
    dropNow: '永久删除',
  },
}

const [yesterday, today] = [0.1, 0.6].map((hue) => png(120, 80, hue).toString('base64'))

// bytesAt returns what an address answers to a visitor, in base64.
export async function bytesAt(page, config, address) {
  const answer = await page.context().browser().newContext()
  const response = await answer.request.get(address)
  equal('the status of the link', response.status(), 200)
  const body = (await response.body()).toString('base64')
  await answer.close()
  return body
}

// colourOf returns the colour of the middle of a picture on the page.
const colourOf = (picture) =>
  picture.evaluate((image) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 })
    const pen = canvas.getContext('2d')
    pen.drawImage(image, image.naturalWidth / 2, image.naturalHeight / 2, 1, 1, 0, 0, 1, 1)
    return [...pen.getImageData(0, 0, 1, 1).data].join()
  })

async function getsBack(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  const name = 'cat.png'
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Versions ${config.language} ${config.size}`, [
    { name, bytes: yesterday },
  ])
  const { items } = await api(page, 'GET', `/api/files?path=${encodeURIComponent(folder)}`)
  const { link } = await api(page, 'POST', `/api/files/${items[0].id}/link`)
  equal('the picture of yesterday', await bytesAt(page, config, link.url), yesterday)
  await page.goto(`/app/files${folder}`)
  await fromMenu(page, say, /^cat\.png/, say.details)
  await page.getByText(say.none).waitFor()
  const tile = page.getByRole('gridcell', { name: /^cat\.png/ }).locator('img')
  await until('the tile', () => tile.evaluate((image) => image.naturalWidth > 0))
  const first = await colourOf(tile)

  await createFolder(page, config, folder.split('/').at(-1), [{ name, bytes: today }])
  equal('the picture of today', await bytesAt(page, config, link.url), today)
  const list = page.getByRole('list', { name: say.versions })
  await list.getByText(say.replaced).waitFor() // the page notices the change
  await until('the tile of today', async () => (await colourOf(tile)) !== first)
  equal('faults of the details', [...(await inspect(page)), ...(await cramped(page, config))], [])
  await config.shot('versions')
  await list.getByRole('button', { name: say.compare }).click()
  const dialog = page.getByRole('dialog', { name: say.compareTitle(name) })
  for (const alt of [say.before, say.present])
    await becomes(`whether “${alt}” is shown`, () => dialog.getByAltText(alt).evaluate((image) => image.naturalWidth), 120)
  equal('faults of the comparison', [...(await inspect(page)), ...(await cramped(page, config))], [])
  await config.shot('versions-compared')
  await dialog.getByRole('button', { name: say.restore, exact: true }).click()
  await page.getByText(say.restored(name)).waitFor()
  await becomes('the tile', () => colourOf(tile), first)
  equal('the picture behind the link', await bytesAt(page, config, link.url), yesterday)

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    list.getByRole('button', { name: say.download }).first().click(),
  ])
  equal('the name of the download', download.suggestedFilename(), name)
  equal('the number of versions', await list.getByRole('listitem').count(), 1)
  await list.getByRole('button', { name: say.drop }).first().click()
  const asks = page.getByRole('dialog', { name: say.dropTitle })
  equal('faults of the question', await inspect(page), [])
  await asks.getByRole('button', { name: say.dropNow, exact: true }).click()
  await becomes('the number of versions', () => list.getByRole('listitem').count(), 0)
}

export const scenarios = [
  { name: 'an overwritten picture is restored', forms: (full) => [...bothLanguages(full), ...small(full)], run: getsBack },
]
