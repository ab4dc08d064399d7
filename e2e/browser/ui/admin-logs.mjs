// The dashboard and the access log of the administration.
import { readFile } from 'node:fs/promises'
import { enterAs, openSection } from './admin.mjs'
import { bothLanguages } from './forms.mjs'
import { becomes, equal, until } from './harness.mjs'
import { api, look } from './stranger.mjs'

const words = {
  'en-US': {
    dashboard: 'Dashboard',
    requests: 'Requests in 24 hours',
    charts: ['Uploads and downloads', 'Traffic', 'Sign-ins'],
    asTable: 'Show as a table',
    failedSignIns: 'In the log: Failed sign-in',
    system: 'System',
    week: 'Last 7 days',
    logs: 'Logs',
    find: 'Find by path or request id',
    action: 'Action',
    time: 'Time',
    newFolder: 'New folder',
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
    requests: '最近 24 小时的请求',
    charts: ['上传和下载', '流量', '登录'],
    asTable: '以表格显示',
    failedSignIns: '查看日志：登录失败',
    system: '系统',
    week: '最近 7 天',
    logs: '日志',
    find: '按路径或请求编号查找',
    action: '操作',
    time: '时间',
    newFolder: '新建文件夹',
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

async function overview(page, config) {
  const word = words[config.language]
  await enterAs(page, config, word.dashboard)
  const section = page.getByRole('region', { name: word.dashboard })
  await section.getByText(word.requests).waitFor()
  for (const name of word.charts) await section.getByRole('figure', { name }).locator('canvas').waitFor()
  await section.getByRole('link', { name: word.system, exact: true }).waitFor()
  await look(page, config, 'admin-dashboard')

  // a chart is a table too: 24 hours, then a week in steps of six hours
  const chart = section.getByRole('figure', { name: word.charts[2] })
  await chart.getByText(word.asTable).click()
  const rows = chart.getByRole('row')
  await becomes('hours', () => rows.count(), 1 + 24)
  await section.getByRole('radio', { name: word.week }).check()
  await until('the steps of a week', async () => (await rows.count()) === 1 + 28)

  await page.evaluate(() =>
    fetch('/api/auth/login', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ username: 'nobody-here', password: 'guess-guess' }),
    }),
  )
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
    forms: (full) => [...bothLanguages(full), { language: 'en-US', theme: 'dark', size: 'small' }],
    run: overview,
  },
  { name: 'finds entries of the log', forms: bothLanguages, run: finds },
]
