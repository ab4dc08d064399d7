// The trash: "I delete a folder by mistake, find it, and have it back."
import { createFolder, enter } from './files.mjs'
import { bothLanguages, everyWith } from './forms.mjs'
import { becomes, equal, inspect } from './harness.mjs'
import { labels } from './labels.mjs'
import { cramped } from './phone.mjs'

const texts = {
  'en-US': {
    trash: 'Trash',
    inTrash: (name) => `“${name}” is in the trash.`,
    undo: 'Undo',
    back: '1 item restored.',
    restored: (name, folder) => `“${name}” is back in “${folder}”.`,
    restoreOf: (name) => `Restore ${name}`,
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
  },
  'zh-CN': {
    trash: '回收站',
    inTrash: (name) => `“${name}”已移到回收站。`,
    undo: '撤销',
    back: '已恢复 1 项。',
    restored: (name, folder) => `“${name}”已恢复到“${folder}”。`,
    restoreOf: (name) => `恢复“${name}”`,
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
  },
}

const papers = ['plan.txt', 'list.txt'].map((name) => ({ name, bytes: btoa(name) }))

async function comesBack(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  const name = `Trip ${config.language}`
  await enter(page, config, '')
  const folder = await createFolder(page, config, name, papers)
  const parent = folder.slice(0, folder.lastIndexOf('/'))
  await page.goto(`/app/files${folder}`)

  // a slip of the hand
  await page.getByRole('link', { name: /^plan\.txt/ }).click()
  await page.keyboard.press('Delete')
  await page.getByText(say.inTrash('plan.txt')).waitFor()
  await page.getByRole('gridcell', { name: /^plan\.txt/ }).waitFor({ state: 'detached' })
  equal('faults of the notice', await inspect(page), [])
  await page.getByRole('button', { name: say.undo }).click()
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
  const restore = page.getByRole('button', { name: say.restoreOf(name) })
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

export const scenarios = [
  { name: 'a deleted file and folder are restored', forms: bothLanguages, run: comesBack },
  { name: 'the trash looks right', forms: everyWith('narrow'), run: looks },
]
