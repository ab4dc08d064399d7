// The page System of the administration.
import { enterAs } from './admin.mjs'
import { windows } from './forms.mjs'
import { until } from './harness.mjs'
import { look } from './stranger.mjs'

const words = {
  'en-US': {
    dashboard: 'Dashboard',
    system: 'System',
    nothing: 'Nothing needs attention.',
    replicas: 'Replicas seen in the last minute',
    differ: /^The replicas run different versions\./,
    stores: 'State of the storages',
    answers: 'Answers',
    latency: /^\d+ ms$/,
    none: 'None so far',
    silent: "Doesn't answer",
    warning: /^The storage “silent .*” doesn't answer/,
    problem: '1 problem needs attention',
  },
  'zh-CN': {
    dashboard: '概览',
    system: '系统',
    nothing: '没有需要处理的问题。',
    replicas: '最近一分钟运行过的实例',
    differ: /^各实例的版本不同。/,
    stores: '存储的状态',
    answers: '正常',
    latency: /^\d+ 毫秒$/,
    none: '还没有运行过',
    silent: '无响应',
    warning: /^存储“silent .*”没有响应/,
    problem: '1 个问题需要处理',
  },
}

// The service has one replica; the test adds the row of another one, of an older version, and a
// bucket that does not answer.
async function shows(page, config) {
  const word = words[config.language]
  await enterAs(page, config, word.dashboard)
  const summary = page.getByRole('region', { name: word.dashboard })
  await summary.getByRole('link', { name: word.system, exact: true }).click()
  const section = page.getByRole('region', { name: word.system, exact: true })
  await section.getByText(word.nothing).waitFor()
  const stores = section.getByRole('table', { name: word.stores })
  await stores.getByText(word.answers, { exact: true }).first().waitFor()
  await stores.getByText(word.latency).first().waitFor()
  await section.getByText(word.none).first().waitFor()
  await look(page, config, 'admin-system')

  const id = await config.ask('startTrouble', `silent ${config.size}`)
  await page.reload()
  const replicas = section.getByRole('table', { name: word.replicas })
  await replicas.getByRole('row').filter({ hasText: 'other-host-1' }).getByText('0.9.0', { exact: true }).waitFor()
  await section.getByText(word.differ).waitFor()
  await section.getByText(word.warning).waitFor()
  await stores.getByText(word.silent, { exact: true }).waitFor()
  await look(page, config, 'admin-system-trouble')
  await page.goto('/app/admin/dashboard')
  await until('the problem on the dashboard', async () => {
    await summary.getByRole('link', { name: word.system, exact: true }).waitFor()
    if ((await summary.getByText(word.problem).count()) > 0) return true
    await page.reload() // another storage was slow for a moment
    return false
  })
  await look(page, config, 'admin-dashboard-trouble')
  await config.ask('endTrouble', id)
}

export const scenarios = [
  {
    name: 'shows the system',
    forms: (full) => [
      { language: 'en-US', theme: 'light', size: 'desk' },
      { language: 'zh-CN', theme: 'dark', size: 'phone' },
      ...windows(full, ['narrow']),
    ],
    run: shows,
  },
]
