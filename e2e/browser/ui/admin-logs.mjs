// The dashboard and the access log of the administration.
import { readFile } from 'node:fs/promises'
import { enterAs, openSection } from './admin.mjs'
import { createFolder } from './files.mjs'
import { bothLanguages, every, windows } from './forms.mjs'
import { becomes, equal, until } from './harness.mjs'
import { api, look, notes } from './stranger.mjs'

const words = {
  'en-US': {
    dashboard: 'Dashboard',
    requests: 'Requests',
    charts: ['Requests by hour, last 24 hours', 'Errors', 'Uploads and downloads', 'Traffic', 'Sign-ins'],
    transfers: ['In the log: Upload', 'In the log: Download', 'In the log: Download from a share'],
    failed: 'Failed',
    failedEntries: 'In the log: Failed entries',
    result: 'Result',
    top: 'Most downloaded',
    byNumber: 'By number',
    noDownloads: 'No downloads in this time',
    inLog: (name) => `In the log: ${name}`,
    jobs: ['Running jobs', 'Failed jobs'],
    stores: 'Used space by storage',
    history: 'Used space by day',
    asTable: 'Show as a table',
    failedSignIns: 'In the log: Failed sign-in',
    system: 'System',
    week: 'Last 7 days',
    logs: 'Logs',
    find: 'Find by path or request id',
    action: 'Action',
    time: 'Time',
    newFolder: 'New folder',
    changes: ['Announcement created', 'Announcement deleted'],
    failedSignIn: 'Failed sign-in',
    visitor: 'Visitor',
    only: (name) => `Show only ${name}`,
    user: 'User',
    entry: /^1 entry$/,
    none: 'No such entries',
    exact: 'Exact time…',
    from: 'From',
    to: 'To',
    order: 'The end is before the start.',
    save: 'Download CSV',
    saved: '1 entry downloaded.',
  },
  'zh-CN': {
    dashboard: '概览',
    requests: '请求',
    charts: ['最近 24 小时每小时的请求', '错误', '上传和下载', '流量', '登录'],
    transfers: ['查看日志：上传', '查看日志：下载', '查看日志：从分享下载'],
    failed: '失败',
    failedEntries: '查看日志：失败的记录',
    result: '结果',
    top: '下载最多',
    byNumber: '按次数',
    noDownloads: '这段时间没有下载',
    inLog: (name) => `查看日志：${name}`,
    jobs: ['正在运行的任务', '失败的任务'],
    stores: '各存储的已用空间',
    history: '每天的已用空间',
    asTable: '以表格显示',
    failedSignIns: '查看日志：登录失败',
    system: '系统',
    week: '最近 7 天',
    logs: '日志',
    find: '按路径或请求编号查找',
    action: '操作',
    time: '时间',
    newFolder: '新建文件夹',
    changes: ['新建公告', '删除公告'],
    failedSignIn: '登录失败',
    visitor: '访客',
    only: (name) => `只看 ${name} 的记录`,
    user: '用户',
    entry: /^1 条记录$/,
    none: '没有符合条件的记录',
    exact: '指定时间…',
    from: '从',
    to: '到',
    order: '结束时间早于开始时间。',
    save: '下载 CSV',
    saved: '已下载 1 条记录。',
  },
}

// withYesterday adds the day before to the use of the storages: a run has one day.
async function withYesterday(page) {
  await page.route('**/api/admin/stats/storage', async (request) => {
    const answer = await (await request.fetch()).json()
    const [today] = answer.data.days
    const storage = today.storage.map((one) => ({ ...one, usedSpace: one.usedSpace / 2 }))
    answer.data.days.unshift({ at: today.at - 86_400_000, storage })
    await request.fulfill({ json: answer })
  })
}

// refused tries to sign in with a wrong name.
const refused = (page) =>
  page.evaluate(() =>
    fetch('/api/auth/login', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ username: 'nobody-here', password: 'guess-guess' }),
    }),
  )

async function overview(page, config) {
  const word = words[config.language]
  await withYesterday(page)
  await enterAs(page, config, word.dashboard)
  const section = page.getByRole('region', { name: word.dashboard })
  await section.getByRole('link', { name: word.requests, exact: true }).waitFor()
  for (const name of word.charts) await section.getByRole('figure', { name }).locator('canvas').waitFor()
  await section.getByRole('link', { name: word.system, exact: true }).waitFor()
  for (const name of word.jobs) {
    const to = await section.getByRole('link', { name, exact: true }).getAttribute('href')
    equal(`the page of ${name}`, to, '/app/admin/system')
  }
  for (const name of word.transfers) await section.getByRole('link', { name, exact: true }).first().waitFor()
  const parts = section.getByRole('table', { name: word.stores }).getByRole('row').filter({ hasText: '%' })
  equal('the parts of the storages', await parts.count(), 1)
  await section.getByRole('figure', { name: word.history }).locator('canvas').waitFor()
  await section.getByRole('table', { name: word.top }).or(section.getByText(word.noDownloads)).waitFor()
  await look(page, config, 'admin-dashboard')

  // a chart is a table too: 24 hours, then a week in steps of six hours
  const chart = section.getByRole('figure', { name: word.charts[4] })
  await chart.getByText(word.asTable).click()
  const rows = chart.getByRole('row')
  await becomes('hours', () => rows.count(), 1 + 24)
  await section.getByRole('radio', { name: word.week }).check()
  await until('the steps of a week', async () => (await rows.count()) === 1 + 28)
  // requests are counted for a day
  const requests = section.getByRole('figure', { name: word.charts[0] })
  await requests.getByText(word.asTable).click()
  await becomes('hours of requests', () => requests.getByRole('row').count(), 1 + 24)

  await refused(page)
  await section.getByRole('link', { name: word.failedSignIns }).click()
  await page.getByRole('heading', { name: word.logs, level: 2 }).waitFor()
  const entries = page
    .getByRole('table')
    .getByRole('row')
    .filter({ hasText: word.failedSignIn })
    .filter({ hasText: word.visitor })
  await until('the failed sign-in', async () => {
    if ((await entries.count()) > 0) return true
    await page.reload() // the log is written a moment later
    await page.getByRole('heading', { name: word.logs, level: 2 }).waitFor()
    return false
  })
  await look(page, config, 'admin-logs')
}

// The failed entries behind the errors, and the entries of a file that was downloaded often.
async function leads(page, config) {
  const word = words[config.language]
  await enterAs(page, config, word.dashboard)
  const section = page.getByRole('region', { name: word.dashboard })
  const heading = page.getByRole('heading', { name: word.logs, level: 2 })
  const path = `${await createFolder(page, config, `often-${config.language}`, [notes])}/${notes.name}`
  await page.evaluate(async (path) => {
    for (let n = 0; n < 20; n++) await (await fetch(path)).text()
  }, path)
  await refused(page)

  const top = section.getByRole('table', { name: word.top }).getByRole('row')
  const link = page.getByRole('link', { name: word.inLog(path), exact: true })
  const often = top.filter({ has: link })
  await until('the file among those downloaded most', async () => {
    await page.reload() // the log is written a moment later
    await section.getByRole('radio', { name: word.byNumber }).check()
    await section.getByRole('figure', { name: word.charts[1] }).waitFor()
    await top.first().or(section.getByText(word.noDownloads)).first().waitFor()
    return (await often.filter({ hasText: '20' }).count()) > 0
  })
  await often.getByRole('link').click()
  await heading.waitFor()
  equal('the search', new URL(page.url()).searchParams.get('search'), path)
  await page.getByRole('table').getByRole('row').filter({ hasText: path }).first().waitFor()

  await page.goBack()
  await section.getByRole('link', { name: word.failedEntries }).click()
  await heading.waitFor()
  equal('the filter', new URL(page.url()).searchParams.get('failed'), 'true')
  const result = page.getByRole('combobox', { name: word.result })
  equal('the result', await result.evaluate((select) => select.selectedOptions[0].text), word.failed)
  await page.getByRole('table').getByRole('row').filter({ hasText: word.failedSignIn }).first().waitFor()
  equal('successful entries', await page.getByRole('row').filter({ hasText: path }).count(), 0)
  await result.selectOption('')
  await until('the filter is gone', () => !new URL(page.url()).searchParams.has('failed'))
  await page.getByRole('table').getByRole('row').filter({ hasText: path }).first().waitFor()
}

// The log names the changes that administrators made, and breaks no word.
async function names(page, config) {
  const word = words[config.language]
  await enterAs(page, config, word.dashboard)
  const body = { title: 'Short', content: 'A moment.', level: 'info' }
  const { announcement } = await api(page, 'POST', '/api/admin/announcements', body)
  await api(page, 'DELETE', `/api/admin/announcements/${announcement.id}`)
  await openSection(page, config, word.logs)
  const rows = page.getByRole('table').getByRole('row')
  for (const change of word.changes)
    await until(change, async () => {
      if ((await rows.filter({ hasText: change }).count()) > 0) return true
      await page.reload() // the log is written a moment later
      await rows.nth(1).waitFor()
      return false
    })
  const broken = await page.getByRole('table').evaluate((table) =>
    [...table.querySelectorAll('td:not(.long)')].flatMap((cell) => {
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
      const found = []
      while (texts.nextNode())
        for (const { 0: text, index } of texts.currentNode.data.matchAll(/\S+/g)) {
          const range = document.createRange()
          range.setStart(texts.currentNode, index)
          range.setEnd(texts.currentNode, index + text.length)
          // ids of keys may break
          if (text.length <= 20 && range.getClientRects().length > 1) found.push(text)
        }
      return found
    }),
  )
  equal('the broken words', broken, [])
  await look(page, config, 'admin-logs-changes')
}

async function finds(page, config) {
  const word = words[config.language]
  const name = `logged-${config.language}-${config.size}`
  await enterAs(page, config, word.dashboard)
  const home = `/home/${config.username}`
  const { file } = await api(page, 'POST', '/api/files/folder', { path: home, name })
  await openSection(page, config, word.logs)
  const found = page.getByRole('status').filter({ hasText: word.entry })
  await page.getByRole('searchbox', { name: word.find }).fill(name)
  await until('the search in the address', () => new URL(page.url()).searchParams.get('search') === name)
  await until('the entry', async () => {
    if ((await found.count()) > 0) return true
    await page.reload() // the log is written a moment later
    await page.getByRole('status').filter({ hasText: /\d/ }).first().waitFor()
    return false
  })
  const row = page.getByRole('table').getByRole('row').filter({ hasText: `${home}/${name}` })
  await row.getByText(word.newFolder).waitFor()

  await row.getByRole('button', { name: word.only(config.username) }).click()
  await until('the user in the address', () => new URL(page.url()).searchParams.get('name') === config.username)
  await becomes('the chosen user', () => page.getByRole('combobox', { name: word.user }).inputValue(), config.username)
  await found.waitFor()

  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: word.save }).click()
  const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\r\n')
  equal('lines', lines.length, 2)
  equal('the line', lines[1].includes(`,folder,${home}/${name},`), true)
  await page.getByText(word.saved).waitFor()

  await page.getByRole('combobox', { name: word.action }).selectOption({ label: word.failedSignIn })
  await page.getByText(word.none).waitFor()
  await page.getByRole('combobox', { name: word.action }).selectOption({ label: word.newFolder })
  await page.getByRole('combobox', { name: word.time }).selectOption({ label: word.exact })
  await page.getByLabel(word.from, { exact: true }).fill('2099-01-02T10:00')
  await page.getByText(word.none).waitFor()
  await page.getByLabel(word.to, { exact: true }).fill('2099-01-01T10:00')
  await page.getByText(word.order).waitFor()
  await look(page, config, 'admin-logs-exact')
  await page.getByLabel(word.from, { exact: true }).fill('2020-01-02T10:00')
  await found.waitFor()
  await api(page, 'DELETE', `/api/files/${file.id}`)
}

export const scenarios = [
  {
    name: 'shows the dashboard',
    forms: (full) => [
      ...bothLanguages(full),
      { language: 'en-US', theme: 'dark', size: 'small' },
      ...windows(full, ['narrow']),
    ],
    run: overview,
  },
  { name: 'leads from the dashboard to the log', forms: bothLanguages, run: leads },
  {
    name: 'names the changes in the log',
    forms: (full) => [...every(full), ...windows(full, ['narrow', 'medium'])],
    run: names,
  },
  { name: 'finds entries of the log', forms: bothLanguages, run: finds },
]
