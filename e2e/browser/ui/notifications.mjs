// The bell: notifications of an account, on two devices and in two tabs.
import { bothLanguages } from './forms.mjs'
import { becomes, equal, inspect, open, until } from './harness.mjs'
import { labels, signInAt } from './labels.mjs'
import { cramped } from './phone.mjs'
import { api, done } from './stranger.mjs'

const words = {
  'en-US': {
    bell: 'Notifications',
    unread: (n) => `Notifications, ${n} unread`,
    empty: 'No notifications',
    markAll: 'Mark all as read',
    moved: (name) => `“${name}” was moved to /vault`,
    expires: (name) => new RegExp(`^The share of “${name}” expires on `),
    ago: /^(1|2) minutes? ago$/,
    retry: 'Retry',
  },
  'zh-CN': {
    bell: '通知',
    unread: (n) => `通知，${n} 条未读`,
    empty: '没有通知',
    markAll: '全部标为已读',
    moved: (name) => `“${name}”已移动到 /vault`,
    expires: (name) => new RegExp(`^“${name}”的分享将于 .+ 到期$`),
    ago: /^(1|2)\s?分钟前$/,
    retry: '重试',
  },
}

// upload uploads a file into a folder, in the session of a page, and returns its id.
async function upload(page, path, fileName) {
  const { sessionId } = await api(page, 'POST', '/api/files/upload-session', { path, fileName, fileSize: 1 })
  const { etag } = await api(page, 'PUT', `/api/files/upload/raw/${sessionId}`, 1)
  const { file } = await api(page, 'POST', '/api/files/upload-complete', { sessionId, etag })
  return file.id
}

// move moves a file to the other provider, and waits for the end of the job.
async function move(page, id) {
  const { jobId } = await api(page, 'POST', `/api/files/${id}/move`, { targetPath: '/vault' })
  await until('the job ends', async () => {
    const { job } = await api(page, 'GET', `/api/files/jobs/${jobId}`)
    return job.status === 'completed'
  })
}

const bell = (page, name) => page.getByRole('button', { name, exact: true })

// enter signs an account in and opens its folder.
async function enter(page, config, folder) {
  await signInAt(page, config, `/app/files${folder}`)
}

// A long move has ended and a share is about to expire while the user was away. The bell tells it
// on the desk and on the phone; what was read on the phone is read on the desk.
async function tells(page, config) {
  const word = words[config.language]
  const username = await config.ask('createAccount', { locale: config.language })
  await config.ask('createVault')
  const mine = { ...config, username }
  const home = `/home/${username}`
  await enter(page, mine, home)

  await page.route('**/api/users/me/notifications?limit=30', (route) =>
    route.fulfill({ status: 409, json: { success: false, error: { code: 'X', message: 'no' } } }),
  )
  await bell(page, word.bell).click()
  const list = page.getByRole('dialog', { name: word.bell })
  await list.getByRole('alert').getByText('no', { exact: true }).waitFor()
  await page.unroute('**/api/users/me/notifications?limit=30')
  await list.getByRole('button', { name: word.retry }).click()
  await list.getByText(word.empty).waitFor()
  equal('faults without notifications', await inspect(page), [])
  await config.shot('notifications-empty')
  await page.keyboard.press('Escape')
  await list.waitFor({ state: 'detached' })
  await becomes('the focus', () => bell(page, word.bell).evaluate((one) => one === document.activeElement), true)

  const moved = `trip ${config.language}.txt`
  await move(page, await upload(page, home, moved))
  const shared = await upload(page, home, 'cat.txt')
  const { share } = await api(page, 'POST', '/api/shares', { fileId: shared, expiresIn: 2 * 24 * 3600 })
  await config.ask('ageShare', { id: share.id })
  await until('the sweep finds the share', async () => {
    const { unread } = await api(page, 'GET', '/api/users/me/notifications')
    return unread === 2
  })

  await page.reload()
  await bell(page, word.unread(2)).waitFor()
  equal('faults with a number', await inspect(page), [])
  await config.shot('notifications-bell')
  const phone = await open(page.context().browser(), { ...config, size: 'phone' })
  await enter(phone, mine, home)
  await bell(phone, word.unread(2)).click()
  const sheet = phone.getByRole('dialog', { name: word.bell })
  await sheet.getByText(word.moved(moved)).waitFor()
  await sheet.getByText(word.expires('cat.txt')).waitFor()
  equal('faults on the phone', await inspect(phone), [])
  equal('what does not fit', await cramped(phone, { size: 'phone' }), [])
  await config.shot('notifications-phone', phone)
  await sheet.getByRole('button', { name: labels[config.language].close }).click()
  await bell(phone, word.bell).waitFor()

  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await bell(page, word.bell).click()
  await list.getByText(word.ago).first().waitFor()
  await becomes('the unread ones', () => list.getByRole('button', { name: word.markAll }).count(), 0)
  await config.shot('notifications')
  await list.getByRole('link', { name: word.moved(moved) }).click()
  await page.waitForURL((url) => url.pathname === '/app/files/vault')
  await list.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: new RegExp(`^${moved}`) }).waitFor()
  await bell(page, word.bell).click()
  await list.getByRole('link', { name: word.expires('cat.txt') }).click()
  await page.waitForURL((url) => url.pathname === '/app/shares')

  // a second tab
  const again = `again ${config.language}.txt`
  await move(page, await upload(page, home, again))
  const tab = await page.context().newPage()
  await tab.goto('/app/shares')
  await page.reload()
  await bell(tab, word.unread(1)).waitFor()
  await bell(page, word.unread(1)).click()
  await list.getByText(word.moved(again)).waitFor()
  await list.getByRole('button', { name: word.markAll }).click()
  await list.getByRole('button', { name: word.markAll }).waitFor({ state: 'detached' })
  await bell(tab, word.bell).waitFor()
  await tab.close()
  await done(phone)
}

export const scenarios = [{ name: 'the bell tells what happened', forms: bothLanguages, run: tells }]
