// The trash: "I delete a folder by mistake, find it, and have it back."
import { createFolder, enter } from './files.mjs'
import { bothLanguages, everyWith, once, small } from './forms.mjs'
import { becomes, equal, inspect, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { cramped } from './phone.mjs'
import { api } from './stranger.mjs'

export const texts = {
  'en-US': {
    trash: 'Trash',
    inTrash: (name) => `“${name}” is in the trash.`,
    undo: 'Undo',
    back: '1 item restored.',
    restored: (name, folder) => `“${name}” is back in “${folder}”.`,
    restoreOf: (name) => `Restore ${name}`,
    restoreTo: 'Restore to…',
    restoreToOf: (name) => `Restore ${name} to another folder`,
    restoreToTitle: (what) => `Restore ${what} to another folder`,
    quoted: (name) => `“${name}”`,
    items: (count) => `${count} items`,
    restoreHere: 'Restore here',
    refused: (name) => new RegExp(`^“${name}” could not be restored: A file now has the name of a folder that contained this entry\\.`),
    backMany: (count) => `${count} items restored.`,
    target: (path) => `Target: ${path}`,
    show: 'Show',
    search: 'Search the trash',
    none: (text) => `Nothing in the trash has “${text}” in its name.`,
    select: (name) => `Select ${name}`,
    purge: /^Delete for good/,
    purgeTitle: (name) => `Delete “${name}” for good?`,
    purgeNow: 'Delete for good',
    purged: '1 item deleted for good.',
    emptyAll: 'Empty trash…',
    emptyNow: 'Empty',
    empty: 'The trash is empty',
    emptied: 'The trash is empty.',
    emptying: 'Emptying the trash',
    gone: '1 item is no longer in the trash: it was restored or deleted elsewhere.',
    tooLarge: /^1 item .* be moved to the trash: This is larger than the trash of its owner may be\. Delete/,
    forGood: 'Delete for good…',
    forGoodTitle: (name) => `Delete ${name}?`,
    forGoodNow: 'Delete',
  },
  'zh-CN': {
    trash: '回收站',
    inTrash: (name) => `“${name}”已移到回收站。`,
    undo: '撤销',
    back: '已恢复 1 项。',
    restored: (name, folder) => `“${name}”已恢复到“${folder}”。`,
    restoreOf: (name) => `恢复“${name}”`,
    restoreTo: '恢复到…',
    restoreToOf: (name) => `将“${name}”恢复到其他文件夹`,
    restoreToTitle: (what) => `将${what}恢复到其他文件夹`,
    quoted: (name) => `“${name}”`,
    items: (count) => `${count} 项`,
    restoreHere: '恢复到这里',
    refused: (name) => `无法恢复“${name}”：无法恢复到原来的位置，请恢复到其他文件夹。`,
    backMany: (count) => `已恢复 ${count} 项。`,
    target: (path) => `目标：${path}`,
    show: '查看',
    search: '在回收站中搜索',
    none: (text) => `回收站中没有名称包含“${text}”的项目。`,
    select: (name) => `选择“${name}”`,
    purge: /^永久删除/,
    purgeTitle: (name) => `永久删除“${name}”？`,
    purgeNow: '永久删除',
    purged: '已永久删除 1 项。',
    emptyAll: '清空回收站…',
    emptyNow: '清空',
    empty: '回收站是空的',
    gone: '1 项已不在回收站中：已在别处恢复或永久删除。',
    tooLarge: /：它超过了所有者回收站的上限，或无法在此删除。$/,
    forGood: '永久删除…',
    forGoodTitle: (name) => `删除 ${name}？`,
    forGoodNow: '删除',
  },
}

const papers = ['plan.txt', 'list.txt'].map((name) => ({ name, bytes: btoa(name) }))

async function comesBack(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  const name = `Trip ${config.language} ${config.theme} ${config.size}`
  await enter(page, config, '')
  const folder = await createFolder(page, config, name, papers)
  const parent = folder.slice(0, folder.lastIndexOf('/'))
  await page.goto(`/app/files${folder}`)

  // a slip of the hand
  await page.getByRole('link', { name: /^plan\.txt/ }).click()
  await page.keyboard.press('Delete')
  await page.getByText(say.inTrash('plan.txt')).waitFor()
  await page.getByRole('gridcell', { name: /^plan\.txt/ }).waitFor({ state: 'detached' })
  const undo = page.getByRole('button', { name: say.undo })
  await undo.hover() // a message stays under the pointer
  equal('faults of the notice', await inspect(page), [])
  await undo.click()
  await page.getByRole('gridcell', { name: /^plan\.txt/ }).waitFor()
  await page.getByText(say.back).waitFor()

  // the whole folder, found again later
  await page.goto(`/app/files${parent}`)
  await page.getByRole('link', { name, exact: true }).click()
  await page.keyboard.press('Delete')
  await page.getByText(say.inTrash(name)).waitFor()
  await page.getByRole('navigation').getByRole('link', { name: say.trash, exact: true }).first().click()
  await page.getByRole('heading', { level: 1, name: say.trash }).waitFor()
  await page.getByRole('searchbox', { name: say.search }).fill('nothing of this name')
  await page.getByText(say.none('nothing of this name')).waitFor()
  await page.getByRole('searchbox', { name: say.search }).fill(name)
  const restore = page.getByRole('button', { name: say.restoreOf(name), exact: true })
  await restore.waitFor()
  await config.shot('trash')
  equal('faults of the list', await inspect(page), [])
  await restore.click()
  await page.getByText(say.restored(name, config.username)).waitFor()
  await page.getByRole('button', { name: say.show }).click()
  for (const file of ['plan.txt', 'list.txt']) await page.getByRole('gridcell', { name: new RegExp(`^${file}`) }).waitFor()

  // for good
  await page.getByRole('link', { name: /^list\.txt/ }).click()
  await page.keyboard.press('Delete')
  await page.getByText(say.inTrash('list.txt')).waitFor()
  await page.goto('/app/trash?search=list.txt')
  await page.getByRole('checkbox', { name: say.select('list.txt') }).check()
  await page.getByRole('toolbar').getByRole('button', { name: say.purge }).click()
  const asks = page.getByRole('dialog', { name: say.purgeTitle('list.txt') })
  equal('faults of the question', await inspect(page), [])
  await asks.getByRole('button', { name: say.purgeNow, exact: true }).click()
  await page.getByText(say.purged).waitFor()
  await page.getByText(say.none('list.txt')).waitFor()
}

// A file is where the folder of four deleted files was: the message of the refusal, the bar of the
// selection and the button of an item each lead to another folder.
async function goesElsewhere(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  await enter(page, config, '')
  const name = `Elsewhere ${config.language} ${config.size}`
  const files = ['one.txt', 'two.txt', 'three.txt', 'four.txt'].map((file) => ({ name: file, bytes: btoa(file) }))
  const folder = await createFolder(page, config, name, files)
  const home = folder.slice(0, folder.lastIndexOf('/'))
  const { items, folder: entry } = await api(page, 'GET', `/api/files?path=${encodeURIComponent(folder)}`)
  for (const { id } of [...items, entry]) await api(page, 'DELETE', `/api/files/${id}?trash=true`)
  // a file with the name of the folder
  await createFolder(page, config, config.username, [{ name, bytes: btoa(name) }], '/home')

  await page.goto('/app/trash')
  const restored = (file) => page.getByText(say.restored(file, config.username)).first().waitFor()
  await page.getByRole('button', { name: say.restoreOf('one.txt') }).first().click()
  await page.getByText(say.refused('one.txt')).waitFor()
  await page.getByRole('button', { name: say.restoreTo }).last().click()
  const asks = (what) => page.getByRole('dialog', { name: say.restoreToTitle(what) })
  await asks(say.quoted('one.txt')).waitFor()
  equal('faults of the dialog', [...(await inspect(page)), ...(await cramped(page, config))], [])
  await config.shot('trash-elsewhere')
  await choosesHome(say, asks(say.quoted('one.txt')), home)
  await restored('one.txt')

  await page.getByRole('button', { name: say.restoreToOf('two.txt') }).first().click()
  await choosesHome(say, asks(say.quoted('two.txt')), home)
  await restored('two.txt')

  for (const file of ['three.txt', 'four.txt'])
    await page.getByRole('checkbox', { name: say.select(file) }).first().check()
  await config.shot('trash-selected')
  await page.getByRole('toolbar').getByRole('button', { name: say.restoreTo }).click()
  await choosesHome(say, asks(say.items(2)), home)
  await page.getByText(say.backMany(2)).waitFor()

  const there = await api(page, 'GET', `/api/files?path=${encodeURIComponent(home)}`)
  const ids = new Set(there.items.map(({ id }) => id))
  equal('whether all files are in the other folder', items.every(({ id }) => ids.has(id)), true)
  for (const { id } of items) await api(page, 'DELETE', `/api/files/${id}`)
}

async function choosesHome(say, dialog, home) {
  await dialog.getByText(say.target(home), { exact: true }).waitFor()
  const here = dialog.getByRole('button', { name: say.restoreHere })
  await until('a folder to restore to', () => here.isEnabled())
  await here.click()
  await dialog.waitFor({ state: 'detached' })
}

async function looks(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Looks ${config.language} ${config.size}`, papers)
  await page.goto(`/app/files${folder}`)
  await page.getByRole('gridcell', { name: /^plan\.txt/ }).waitFor()
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Delete')
  await page.getByText(say.emptyFolder).waitFor()
  await page.goto('/app/trash')
  await page.getByRole('button', { name: say.restoreOf('plan.txt') }).first().waitFor()
  await config.shot('trash-list')
  equal('faults of the list', [...(await inspect(page)), ...(await cramped(page, config))], [])
  await page.getByRole('button', { name: say.emptyAll }).click()
  await page.getByRole('dialog').getByRole('button', { name: say.emptyNow, exact: true }).click()
  await page.getByRole('heading', { name: say.empty }).waitFor()
  await config.shot('trash-empty')
  equal('faults of the empty trash', await inspect(page), [])
  await becomes('what is left', () => page.getByRole('checkbox').count(), 0)
}

// On two pages: what one page restores or deletes for good, the other cannot, and says so.
async function meets(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  await enter(page, config, '')
  const name = `Twice ${config.language}`
  const folder = await createFolder(page, config, name, papers)
  const { items } = await api(page, 'GET', `/api/files?path=${encodeURIComponent(folder)}`)
  for (const { id } of items) await api(page, 'DELETE', `/api/files/${id}?trash=true`)
  const other = Object.assign(await page.context().newPage(), { theme: page.theme })
  for (const shown of [page, other]) {
    await shown.goto('/app/trash')
    await shown.getByRole('button', { name: say.restoreOf('list.txt') }).first().waitFor()
  }
  await page.getByRole('button', { name: say.restoreOf('plan.txt') }).first().click()
  await page.getByText(say.restored('plan.txt', name)).waitFor()
  await other.getByRole('button', { name: say.restoreOf('plan.txt') }).first().click()
  await other.getByText(say.gone).waitFor()
  equal('faults of the message', await inspect(other), [])
  await config.shot('trash-gone', other)
  await other.reload()
  await purges(page, say, 'list.txt')
  await page.getByText(say.purged).waitFor()
  await purges(other, say, 'list.txt')
  await other.getByText(say.gone).waitFor()
  equal('whether it says that it deleted something', await other.getByText(say.purged).count(), 0)
  await other.close()
}

async function purges(page, say, name) {
  await page.getByRole('checkbox', { name: say.select(name) }).first().check()
  await page.getByRole('toolbar').getByRole('button', { name: say.purge }).click()
  await page
    .getByRole('dialog', { name: say.purgeTitle(name) })
    .getByRole('button', { name: say.purgeNow, exact: true })
    .click()
}

// A file that is larger than the trash of its owner may be: it stays, and the message leads to the
// question whether to delete it for good.
async function tooLarge(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Large ${config.language} ${config.size}`, papers)
  const { profile } = await api(page, 'GET', '/api/users/me/settings')
  await api(page, 'PUT', `/api/admin/users/${profile.id}`, { maxKept: 3 })
  await page.goto(`/app/files${folder}`)
  await page.getByRole('link', { name: /^plan\.txt/ }).click()
  await page.keyboard.press('Delete')
  await page.getByText(say.tooLarge).waitFor()
  await page.getByRole('gridcell', { name: /^plan\.txt/ }).waitFor()
  equal('faults of the message', [...(await inspect(page)), ...(await cramped(page, config))], [])
  await config.shot('trash-too-large')
  await page.getByRole('button', { name: say.forGood }).click()
  const asks = page.getByRole('dialog', { name: say.forGoodTitle('plan.txt') })
  await asks.waitFor()
  equal('faults of the question', [...(await inspect(page)), ...(await cramped(page, config))], [])
  await config.shot('trash-too-large-asks')
  await asks.getByRole('button', { name: say.forGoodNow, exact: true }).click()
  await page.getByRole('gridcell', { name: /^plan\.txt/ }).waitFor({ state: 'detached' })
  await api(page, 'PUT', `/api/admin/users/${profile.id}`, { maxKept: -1 })
}

// More items than one request deletes: a card shows the job, and the list is empty at its end.
async function emptiesLarge(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  await enter(page, config, '')
  const ten = Array.from({ length: 10 }, (_, n) => ({ name: `f${n}.txt`, bytes: btoa(`f${n}`) }))
  const from = await createFolder(page, config, 'Ten', ten)
  const hundred = await createFolder(page, config, 'Hundred', [])
  const all = await createFolder(page, config, 'Thousand', [])
  const idAt = async (path) => (await api(page, 'GET', `/api/files?path=${encodeURIComponent(path)}`)).folder.id
  const copy = (id, targetPath, newName) => api(page, 'POST', `/api/files/${id}/copy`, { targetPath, newName })
  for (let n = 0; n < 10; n++) await copy(await idAt(from), hundred, `${n}`)
  for (let n = 0; n < 11; n++) await copy(await idAt(hundred), all, `${n}`)
  const ids = []
  for (let number = 1; ids.length === (number - 1) * 1000; number++) {
    const query = `path=${encodeURIComponent(all)}&search=f&type=file&limit=1000&page=${number}`
    ids.push(...(await api(page, 'GET', `/api/files?${query}`)).items.map(({ id }) => id))
  }
  equal('the number of files', ids.length, 1100)
  for (let at = 0; at < ids.length; at += 100)
    await api(page, 'POST', '/api/files/batch', { action: 'delete', trash: true, fileIds: ids.slice(at, at + 100) })

  await page.goto('/app/trash')
  await page.getByRole('button', { name: say.emptyAll }).click()
  await page.getByRole('dialog').getByRole('button', { name: say.emptyNow, exact: true }).click()
  const card = page.getByText(say.emptying) // a fast job ends before the card shows
  await Promise.race([card.waitFor().then(() => config.shot('trash-emptying')), page.getByText(say.emptied, { exact: true }).waitFor()])
  await page.getByText(say.emptied, { exact: true }).waitFor()
  await page.getByRole('heading', { name: say.empty }).waitFor()
  await until('the end of the card', async () => (await card.count()) === 0)
  equal('what is left', (await api(page, 'GET', '/api/trash')).items.length, 0)
}

export const scenarios = [
  { name: 'a deleted file and folder are restored', forms: bothLanguages, run: comesBack },
  {
    name: 'deleted files are restored to another folder',
    forms: (full) => [...bothLanguages(full), ...small(full)],
    run: goesElsewhere,
  },
  { name: 'the trash on two pages', forms: bothLanguages, run: meets },
  {
    name: 'a file too large for the trash',
    forms: (full) => [...bothLanguages(full), { language: 'en-US', theme: 'dark', size: 'phone' }],
    run: tooLarge,
  },
  { name: 'a large trash is emptied', forms: once, run: emptiesLarge },
  { name: 'the trash looks right', forms: everyWith('narrow'), run: looks },
]
