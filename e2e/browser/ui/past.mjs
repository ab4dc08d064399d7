// Earlier times: "I look at a folder as it was, and bring it back."
import { api } from './stranger.mjs'
import { createFolder, enter } from './files.mjs'
import { bothLanguages, everyWith, once, small } from './forms.mjs'
import { becomes, equal, inspect, until } from './harness.mjs'
import { keepRunning } from './interruptions.mjs'
import { labels } from './labels.mjs'
import { cramped } from './phone.mjs'
import { png } from './pictures.mjs'

export const texts = {
  'en-US': {
    earlier: 'Earlier times of this folder',
    title: (name) => `Earlier times of “${name}”`,
    time: 'Time',
    gaps: 'The slider leaves out the times at which the folder had something that was deleted for good.',
    list: 'The folder at that time',
    states: { same: 'Unchanged', changed: 'Has other content', moved: 'Moved or renamed', trashed: 'In the trash' },
    open: (name) => `Open ${name}`,
    show: (name) => `Show ${name} as it was`,
    shown: (name) => new RegExp(`^“${name}” on `),
    download: (name) => `Download ${name} as it was`,
    restoreOf: (name) => `Restore ${name} from the trash`,
    bring: 'Bring the folder back to this time…',
    bringTitle: (name) => new RegExp(`^Bring “${name}” back to .*\\?$`),
    steps: [
      '1 item restored from the trash',
      '1 item moved back or renamed back',
      '1 file gets the content that it had',
      '1 item that came later moved to the trash',
    ],
    bringNow: 'Bring back',
    bringing: (name) => `Bringing “${name}” back`,
    brought: (name) => new RegExp(`^“${name}” is as it was on .*\\.$`),
    nothing: 'The folder is now as it was at that time.',
    leave: 'Back to the folder',
    copy: (name) => `Copy ${name} from then`,
    copyTitle: (name) => new RegExp(`^Copy “${name}” as it was on `),
    target: (path) => `Target: ${path}`,
    copyHere: 'Copy here',
    copied: (name, folder, as) => `“${name}” as it was is in “${folder}” as “${as}”.`,
    showCopy: 'Show',
    nowAt: 'This folder is now somewhere else:',
    nowGone: 'This folder is now in the trash, or it no longer exists.',
  },
  'zh-CN': {
    earlier: '此文件夹的过去',
    title: (name) => `“${name}”的过去`,
    time: '时间',
    gaps: '文件夹中曾有内容后来被彻底删除的那些时段无法查看，滑块会跳过。',
    list: '当时的内容',
    states: { same: '没有变化', changed: '内容已更改', moved: '已移动或改名', trashed: '在回收站中' },
    open: (name) => `打开 ${name}`,
    show: (name) => `查看 ${name} 当时的样子`,
    shown: (name) => new RegExp(`的“${name}”$`),
    download: (name) => `下载 ${name} 当时的内容`,
    restoreOf: (name) => `从回收站还原 ${name}`,
    bring: '恢复到此时…',
    bringTitle: (name) => new RegExp(`^将“${name}”恢复到 .*？$`),
    steps: ['从回收站还原 1 项', '移回或改回 1 项', '恢复 1 个文件的内容', '之后新增的 1 项移到回收站'],
    bringNow: '恢复',
    bringing: (name) => `正在恢复“${name}”`,
    brought: (name) => new RegExp(`^“${name}”已恢复到 .*。$`),
    nothing: '这个文件夹现在就是当时的样子。',
    leave: '返回文件夹',
    copy: (name) => `复制 ${name} 当时的内容`,
    copyTitle: (name) => new RegExp(`^复制 .* 的“${name}”$`),
    target: (path) => `目标：${path}`,
    copyHere: '复制到这里',
    copied: (name, folder, as) => `当时的“${name}”已复制到“${folder}”，名称为“${as}”。`,
    showCopy: '查看',
    nowAt: '这个文件夹现在位于：',
    nowGone: '这个文件夹现在在回收站中，或已不存在。',
  },
}

const [before, after] = [120, 60].map((width) => png(width, 80, 0.1).toString('base64'))

const original = { 'Sec-Fetch-Dest': 'image' } // the bytes themselves, instead of an address

// serverNow returns a time of the server (ms) that has passed and at which a folder can be shown.
export async function serverNow(page, folder) {
  const address = `/api/files?path=${encodeURIComponent(folder)}`
  const time = async () => (await (await page.request.get(address)).json()).timestamp
  let now
  await until('earlier times', async () => {
    now = await time()
    return (await page.request.get(`${address}&at=${now}`)).ok()
  })
  await until('the next millisecond', async () => (await time()) > now)
  return now
}

// gapIn uploads a file to a folder and deletes it for good, and returns the gap that this leaves.
async function gapIn(page, config, folder) {
  const [above, name] = [folder.slice(0, folder.lastIndexOf('/')), folder.split('/').at(-1)]
  await createFolder(page, config, name, [{ name: 'lock.txt', bytes: before }], above)
  await serverNow(page, folder)
  const { 'lock.txt': id } = await idsIn(page, folder)
  await api(page, 'DELETE', `/api/files/${id}`)
  const now = await serverNow(page, folder)
  const { gaps } = await api(page, 'GET', `/api/files?path=${encodeURIComponent(folder)}&at=${now}`)
  return gaps.at(-1)
}

async function bringsBack(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  const name = `Past ${config.language} ${config.size}`
  await enter(page, config, '')
  const folder = await createFolder(page, config, name, [
    { name: 'cat.png', bytes: before },
    { name: 'dog.png', bytes: before },
    { name: 'moved.png', bytes: before },
    { name: 'same.png', bytes: before },
  ])
  await createFolder(page, config, 'album', [{ name: 'deep.png', bytes: before }], folder)
  const { items } = await api(page, 'GET', `/api/files?path=${encodeURIComponent(folder)}`)
  const ids = Object.fromEntries(items.map((item) => [item.name, item.id]))
  const then = await serverNow(page, folder)
  const gap = await gapIn(page, config, folder)
  await createFolder(page, config, name, [
    { name: 'cat.png', bytes: after },
    { name: 'new.png', bytes: after },
  ])
  await api(page, 'DELETE', `/api/files/${ids.album}?trash=true`)
  await api(page, 'POST', `/api/files/${ids['moved.png']}/move`, { targetPath: folder, newName: 'other.png' })

  await page.goto(`/app/files${folder}`)
  await page.getByRole('link', { name: /^cat\.png/ }).waitFor()
  await page.getByRole('button', { name: say.display }).click()
  await page.getByRole('menuitem', { name: say.earlier }).click()
  await page.getByRole('heading', { name: say.title(name) }).waitFor()
  const table = page.getByRole('table', { name: say.list })
  const row = (file) => table.getByRole('row').filter({ hasText: file })
  await row('new.png').waitFor()
  const slider = page.getByRole('slider', { name: say.time })
  await page.getByText(say.gaps).waitFor()
  await slider.fill(String(gap.since))
  await row('new.png').waitFor({ state: 'detached' })
  equal('the time on the way back', Number(await slider.inputValue()), gap.since - 1)
  await slider.fill(String(gap.until - 1))
  await becomes('the time on the way forth', async () => Number(await slider.inputValue()), gap.until)
  await slider.fill(String(then))
  await page.waitForURL((url) => url.searchParams.get('at') === String(then))
  await becomes('tables that are loading', () => page.locator('[aria-busy="true"]').count(), 0)
  await row('moved.png').waitFor()
  for (const [file, state] of Object.entries({
    'cat.png': 'changed',
    'dog.png': 'same',
    'moved.png': 'moved',
    'same.png': 'same',
    album: 'trashed',
  }))
    await row(file).getByText(say.states[state]).waitFor()
  equal('the rows', await table.locator('tbody tr').count(), 5)
  equal('faults of the page', [...(await inspect(page)), ...(await cramped(page, config))], [])
  await config.shot('past')

  await row('cat.png').getByRole('button', { name: say.show('cat.png') }).click()
  const picture = page.getByRole('dialog', { name: say.shown('cat.png') }).getByAltText('cat.png')
  await becomes('the width of the picture', () => picture.evaluate((image) => image.naturalWidth), 120)
  await page.keyboard.press('Escape')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    row('cat.png').getByRole('button', { name: say.download('cat.png') }).click(),
  ])
  equal('the name of the download', download.suggestedFilename(), 'cat.png')
  await row('album').getByRole('link', { name: say.open('album') }).click()
  await row('deep.png').waitFor()
  await page.goBack()
  await row('dog.png').waitFor()

  await page.getByRole('button', { name: say.bring }).click()
  const dialog = page.getByRole('dialog', { name: say.bringTitle(name) })
  for (const step of say.steps) await dialog.getByText(step, { exact: true }).waitFor()
  equal('faults of the dialog', [...(await inspect(page)), ...(await cramped(page, config))], [])
  await config.shot('past-rewind')
  await dialog.getByRole('button', { name: say.bringNow, exact: true }).click()
  await page.getByText(say.brought(name)).waitFor()
  await becomes('the states', () => table.getByText(say.states.same, { exact: true }).count(), 5)

  await page.getByRole('button', { name: say.bring }).click()
  await dialog.getByText(say.nothing).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: say.leave }).click()
  for (const file of ['album', 'cat.png', 'dog.png', 'moved.png', 'same.png'])
    await page.getByRole('link', { name: new RegExp(`^${file}`) }).waitFor()
  equal('whether what came later is gone', await page.getByRole('link', { name: /^new\.png/ }).count(), 0)
  const content = await page.request.get(`/api/files/${ids['cat.png']}/download`, { headers: original })
  equal('the content of cat.png', (await content.body()).toString('base64'), before)
}

// A rewind and a copy from an earlier time go on when the page is loaded again.
async function goesOn(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  const name = `Past again ${config.language}`
  await enter(page, config, '')
  const folder = await createFolder(page, config, name, [{ name: 'cat.png', bytes: before }])
  const then = await serverNow(page, folder)
  await createFolder(page, config, name, [{ name: 'cat.png', bytes: after }])
  const notices = page.getByRole('region', { name: say.notices })
  const begun = () => page.waitForFunction(() => sessionStorage.getItem('larder.jobs'))

  let end = await keepRunning(page)
  await page.goto(`/app/past?path=${encodeURIComponent(folder)}&at=${then}`)
  await page.getByRole('button', { name: say.copy('cat.png') }).click()
  const copy = page.getByRole('dialog').getByRole('button', { name: say.copyHere })
  await until('a folder to copy to', () => copy.isEnabled())
  await copy.click()
  await notices.getByText(say.copyingTo(name)).waitFor()
  await page.reload()
  await notices.getByText(say.copyingTo(name)).waitFor()
  end()
  await notices.getByText(say.copiedTo(name)).waitFor()
  await page.unroute('**/api/files/jobs/*')

  end = await keepRunning(page)
  await page.getByRole('button', { name: say.bring }).click()
  await page.getByRole('dialog').getByRole('button', { name: say.bringNow, exact: true }).click()
  await begun()
  await page.reload()
  await notices.getByText(say.bringing(name)).waitFor()
  end()
  await notices.getByText(say.brought(name)).waitFor()
  equal('jobs that the tab remembers', await page.evaluate(() => sessionStorage.getItem('larder.jobs')), null)
}

// A file and a folder of an earlier time are copied beside what is there now.
async function copies(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  const name = `Copies ${config.language} ${config.size}`
  await enter(page, config, '')
  const folder = await createFolder(page, config, name, [{ name: 'cat.png', bytes: before }])
  await createFolder(page, config, 'album', [{ name: 'deep.png', bytes: before }], folder)
  const ids = await idsIn(page, folder)
  const then = await serverNow(page, folder)
  await createFolder(page, config, name, [{ name: 'cat.png', bytes: after }])
  await createFolder(page, config, 'album', [{ name: 'later.png', bytes: after }], folder)
  await api(page, 'DELETE', `/api/files/${ids.album}?trash=true`)

  await page.goto(`/app/past?path=${encodeURIComponent(folder)}&at=${then}`)
  await copiesTo(page, config, say, 'cat.png', folder, 'cat (1).png')
  equal('the copied picture', await bytesOf(page, (await idsIn(page, folder))['cat (1).png']), before)
  equal('the present picture', await bytesOf(page, ids['cat.png']), after)
  await copiesTo(page, config, say, 'album', folder, 'album')
  await page.getByRole('button', { name: say.showCopy }).last().click()
  await page.getByRole('link', { name: /^deep\.png/ }).waitFor()
  equal('whether what came later was copied', await page.getByRole('link', { name: /^later\.png/ }).count(), 0)

  // from a folder that is in the trash: its own folder has no path, the one above it has
  await page.goto(`/app/past?path=${encodeURIComponent(folder)}&at=${then}&ids=${ids.album}`)
  await copiesTo(page, config, say, 'deep.png', folder, 'deep.png')
}

async function copiesTo(page, config, say, item, folder, as) {
  const table = page.getByRole('table', { name: say.list })
  await table.getByRole('button', { name: say.copy(item) }).click()
  const dialog = page.getByRole('dialog', { name: say.copyTitle(item) })
  await dialog.getByText(say.target(folder), { exact: true }).waitFor()
  const copy = dialog.getByRole('button', { name: say.copyHere })
  await until('a folder to copy to', () => copy.isEnabled())
  equal('faults of the dialog', [...(await inspect(page)), ...(await cramped(page, config))], [])
  await config.shot(`past-copy-${item.replace('.png', '')}`)
  await copy.click()
  await page.getByText(say.copied(item, folder.split('/').at(-1), as)).waitFor()
}

const idsIn = async (page, folder) => {
  const { items } = await api(page, 'GET', `/api/files?path=${encodeURIComponent(folder)}`)
  return Object.fromEntries(items.map((item) => [item.name, item.id]))
}

const bytesOf = async (page, id) =>
  (await (await page.request.get(`/api/files/${id}/download`, { headers: original })).body()).toString('base64')

// In a folder below the first one, a deleted file comes back from the trash. The folder itself is
// then in the trash: its former content comes back only together with it.
async function comesBackBelow(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Past below ${config.language}`, [])
  const album = await createFolder(page, config, 'album', [{ name: 'deep.png', bytes: before }], folder)
  const [{ album: id }, { 'deep.png': deep }] = [await idsIn(page, folder), await idsIn(page, album)]
  const then = await serverNow(page, album)
  await api(page, 'DELETE', `/api/files/${deep}?trash=true`)

  const below = `/app/past?path=${encodeURIComponent(folder)}&at=${then}&ids=${id}`
  await page.goto(below)
  const row = page.getByRole('table', { name: say.list }).getByRole('row').filter({ hasText: 'deep.png' })
  await row.getByText(say.states.trashed).waitFor()
  await page.getByRole('button', { name: say.bring }).waitFor()
  await row.getByRole('button', { name: say.restoreOf('deep.png') }).click()
  await row.getByText(say.states.same).waitFor()
  equal('the restored file', await bytesOf(page, deep), before)

  await api(page, 'DELETE', `/api/files/${id}?trash=true`)
  const gone = page.waitForResponse((answer) => answer.url().endsWith(`/api/files/${id}`) && answer.status() === 404)
  await page.goto(below)
  await gone
  await row.getByText(say.states.trashed).waitFor()
  equal('buttons', await row.getByRole('button', { name: say.restoreOf('deep.png') }).count(), 0)
  equal('buttons to rewind', await page.getByRole('button', { name: say.bring }).count(), 0)
  await page.getByText(say.nowGone).waitFor()

  // another folder than the present one had the path
  await page.goto(`/app/past?path=${encodeURIComponent(folder)}&at=${then}`)
  await page.getByRole('button', { name: say.bring }).waitFor()
  equal('texts about another place', await page.getByText(say.nowAt).count(), 0)
  const [above, name] = [folder.slice(0, folder.lastIndexOf('/')), folder.split('/').at(-1)]
  const { [name]: moved } = await idsIn(page, above)
  await api(page, 'POST', `/api/files/${moved}/move`, { targetPath: above, newName: `${name} moved` })
  await createFolder(page, config, name, [])
  await page.reload()
  await page.getByText(say.nowAt).waitFor()
  equal('faults of the page', [...(await inspect(page)), ...(await cramped(page, config))], [])
  await page.getByRole('link', { name: `${folder} moved` }).click()
  await page.getByRole('heading', { name: `${name} moved` }).waitFor()
}

// The page in windows of other widths and in both themes.
async function looks(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  const name = `Past looks ${config.language} ${config.size} ${config.theme}`
  await enter(page, config, '')
  const long = `a ${'long '.repeat(12)}name.png`
  const folder = await createFolder(page, config, name, [
    { name: 'cat.png', bytes: before },
    { name: 'dog.png', bytes: before },
    { name: long, bytes: before },
  ])
  const ids = await idsIn(page, folder)
  const then = await serverNow(page, folder)
  await createFolder(page, config, name, [{ name: 'cat.png', bytes: after }])
  await api(page, 'DELETE', `/api/files/${ids['dog.png']}?trash=true`)
  await page.goto(`/app/past?path=${encodeURIComponent(folder)}&at=${then}`)
  const table = page.getByRole('table', { name: say.list })
  await table.getByRole('row').filter({ hasText: 'dog.png' }).getByText(say.states.trashed).waitFor()
  await config.shot('past-looks')
  equal('faults of the page', [...(await inspect(page)), ...(await cramped(page, config))], [])
  const last = table.getByRole('row').filter({ hasText: 'long name' })
  const [word, all] = [await last.getByText(long).boundingBox(), await table.boundingBox()]
  const above = await page.getByRole('slider', { name: say.time }).boundingBox()
  equal('whether a long name has room', word.width >= 80, true)
  equal('whether the table fits', all.width <= above.width + 1, true)
  await last.scrollIntoViewIfNeeded()
  await config.shot('past-looks-end')
}

export const scenarios = [
  { name: 'a folder is brought back to an earlier time', forms: (full) => [...bothLanguages(full), ...small(full)], run: bringsBack },
  { name: 'an item is copied from an earlier time', forms: (full) => [...bothLanguages(full), ...small(full)], run: copies },
  { name: 'a rewind goes on when the page is loaded again', forms: once, run: goesOn },
  { name: 'a deleted file below an earlier folder is restored', forms: bothLanguages, run: comesBackBelow },
  { name: 'an earlier time looks right', forms: everyWith('narrow'), run: looks },
]
