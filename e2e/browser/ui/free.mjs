// Free mode: "I have no account here, but I have my own bucket: I connect it for an hour, see my
// files, upload, download, delete, see the time left, and when the time is over I connect again
// without typing everything anew."
import { mkdtemp, open as openFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bothLanguages, once, windows } from './forms.mjs'
import { becomes, equal, give } from './harness.mjs'
import { Keys } from './keyboard.mjs'
import { look, saved } from './stranger.mjs'

export const texts = {
  'en-US': {
    link: 'Use your own bucket',
    signIn: 'Sign in',
    title: 'Use your own bucket',
    warning: /^Your keys go to this server\./,
    kind: 'Kind',
    other: 'Other S3-compatible storage',
    wasabi: 'Wasabi',
    region: 'Region',
    addresses: 'Addresses',
    inPath: 'Bucket in the path',
    endpoint: 'Endpoint',
    bucket: 'Bucket',
    keyId: 'Access key ID',
    secret: 'Secret access key',
    duration: 'Duration',
    twoHours: '2 hours',
    connect: 'Connect',
    noSecret: 'Enter the secret access key, without spaces.',
    notPublic: /^Enter https:\/\/ or http:\/\/ with a host that has a public address/,
    refused: /^The storage refused the keys or the bucket\./,
    connected: (bucket) => `Connected to “${bucket}”`,
    left: 'Time left',
    twoLeft: /^(2 h 0|1 h 59) min left$/,
    minutesLeft: /^[34]:\d\d left$/,
    soon: /^The session ends within 5 minutes\./,
    empty: 'This bucket is empty',
    emptyFolder: 'This folder is empty',
    upload: 'Upload',
    uploads: 'Uploads',
    status: (done, total) => `${done} of ${total} ${total === 1 ? 'file' : 'files'} uploaded`,
    tidy: 'Remove finished',
    exists: "The bucket has a file with this name. Replacing it can't be undone.",
    replace: (name) => `Replace “${name}”`,
    skip: (name) => `Skip “${name}”`,
    tooLarge: /^The file has more than 1 GB/,
    badName: /^This name can't be used here\./,
    forget: (name) => `Remove “${name}” from the list`,
    location: 'Location',
    download: (name) => `Download: ${name}`,
    remove: (name) => `Delete “${name}”`,
    sure: (name) => `Delete “${name}”?`,
    delete: 'Delete',
    cancel: 'Cancel',
    gone: 'The bucket no longer has this file.',
    expired: /^The time of the session is over/,
    end: 'End session',
    ended: /^The session has ended/,
    off: "You can't use your own bucket on this site",
    otherTab: (bucket) => `Another tab has connected this browser to “${bucket}”. That bucket is shown now.`,
    replaced: /^This browser has another session now/,
  },
  'zh-CN': {
    link: '使用自己的存储桶',
    signIn: '登录',
    title: '使用自己的存储桶',
    warning: /^密钥会发送到此服务器。/,
    kind: '类型',
    other: '其他 S3 兼容存储',
    wasabi: 'Wasabi',
    region: '区域',
    addresses: '地址形式',
    inPath: '存储桶在路径中',
    endpoint: '端点',
    bucket: '存储桶',
    keyId: '访问密钥 ID',
    secret: '私有访问密钥',
    duration: '时长',
    twoHours: '2 小时',
    connect: '连接',
    noSecret: '请输入私有访问密钥，不能有空格。',
    notPublic: /主机须有公网地址/,
    refused: /^存储拒绝了密钥或存储桶。/,
    connected: (bucket) => `已连接到“${bucket}”`,
    left: '剩余时间',
    twoLeft: /^剩余 (2 小时 0|1 小时 59) 分钟$/,
    minutesLeft: /^剩余 [34]:\d\d$/,
    soon: /^会话将在 5 分钟内结束。/,
    empty: '此存储桶为空',
    emptyFolder: '此文件夹为空',
    upload: '上传',
    uploads: '上传列表',
    status: (done, total) => `已上传 ${done} / ${total}`,
    tidy: '移除已完成的',
    exists: '存储桶中已有同名文件。替换后，原有内容无法恢复。',
    replace: (name) => `替换“${name}”`,
    skip: (name) => `跳过“${name}”`,
    tooLarge: /^文件超过 1 GB 的上限/,
    badName: /^此处不能使用此名称/,
    forget: (name) => `从列表中移除“${name}”`,
    location: '位置',
    download: (name) => `下载: ${name}`,
    remove: (name) => `删除“${name}”`,
    sure: (name) => `删除“${name}”？`,
    delete: '删除',
    cancel: '取消',
    gone: '存储桶中已没有此文件。',
    expired: /^会话时间已到/,
    end: '结束会话',
    ended: /^会话已结束/,
    off: '无法在此站点使用自己的存储桶',
  },
}

const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })
const field = (page, label) => page.getByLabel(label, { exact: true })
const press = (page, name) => page.getByRole('button', { name, exact: true }).click()

// fill enters a bucket into the form.
export async function fill(page, say, bucket, secret) {
  await field(page, say.kind).selectOption(say.other)
  await field(page, say.endpoint).fill(bucket.Endpoint)
  await field(page, say.bucket).fill(bucket.Name)
  await field(page, say.keyId).fill(bucket.AccessKey)
  await field(page, say.secret).fill(secret)
}

const upload = (page, say, files) => give(page, () => press(page, say.upload), files)

async function connects(page, config) {
  const say = texts[config.language]
  const bucket = await config.ask('createBucket')
  const keys = async () => (await config.ask('bucketKeys')).sort()
  const connected = page.getByRole('heading', { level: 1, name: say.connected(bucket.Name) })
  const uploads = page.getByRole('region', { name: say.uploads })
  const left = async () => (await page.getByRole('timer', { name: say.left }).innerText()).trim()
  const link = (name) => page.getByRole('main').getByRole('link', { name: new RegExp(`^${name}`) })

  // the form: presets, missing values, an endpoint in a private network, a wrong secret
  await page.goto('/app/login')
  await page.getByRole('link', { name: say.link }).click()
  await page.getByRole('heading', { level: 1, name: say.title }).waitFor()
  await page.getByText(say.warning).waitFor()
  await look(page, config, 'free-form')
  await field(page, say.kind).selectOption(say.wasabi)
  await field(page, say.region).fill('eu-central-1')
  await becomes('the endpoint', () => field(page, say.endpoint).inputValue(), 'https://s3.eu-central-1.wasabisys.com')
  await fill(page, say, bucket, '')
  await field(page, say.endpoint).fill('http://10.0.0.1:9000')
  await field(page, say.duration).selectOption(say.twoHours)
  await press(page, say.connect)
  await page.getByText(say.noSecret).waitFor()
  await field(page, say.secret).fill('wrong')
  await press(page, say.connect)
  await page.getByText(say.notPublic).waitFor()
  const focused = await field(page, say.endpoint).evaluate((one) => one === document.activeElement)
  equal('whether the refused field has the focus', focused, true)
  await field(page, say.endpoint).fill(bucket.Endpoint)
  await press(page, say.connect)
  await page.getByText(say.refused).waitFor()
  await look(page, config, 'free-refused')
  await field(page, say.secret).fill(bucket.SecretKey)
  await press(page, say.connect)
  await connected.waitFor()
  await page.getByText(say.empty, { exact: true }).waitFor()
  equal('the time left', say.twoLeft.test(await left()), true)
  await look(page, config, 'free-empty')

  // uploads: two files, one that exists, one that is too large, one with a name that is refused
  await upload(page, say, [file('notes.txt', 'my notes'), file('报告 1%.txt', 'a report')])
  await page.getByText(say.status(2, 2)).waitFor()
  await link('notes\\.txt').waitFor()
  equal('the bucket', await keys(), ['notes.txt', '报告 1%.txt'])
  const dir = await mkdtemp(join(tmpdir(), 'larder-free-'))
  const large = await openFile(join(dir, 'large.bin'), 'w')
  await large.truncate(2 ** 30 + 1)
  await large.close()
  await upload(page, say, join(dir, 'large.bin'))
  await uploads.getByText(say.tooLarge).waitFor()
  await rm(dir, { recursive: true })
  await upload(page, say, [file('a~b.txt', 'x'), file('notes.txt', 'newer notes')])
  await uploads.getByText(say.badName).waitFor()
  await uploads.getByText(say.exists).waitFor()
  await look(page, config, 'free-uploads')
  equal('the bucket', await keys(), ['notes.txt', '报告 1%.txt'])
  const save = (name) => saved(page, () => press(page, say.download(name)))
  equal('the bytes before', (await save('notes.txt')).bytes.toString(), 'my notes')
  await press(page, say.replace('notes.txt'))
  await page.getByText(say.status(3, 5)).waitFor()
  const got = await saved(page, () => link('notes\\.txt').click())
  equal('the download', [got.name, got.bytes.toString()], ['notes.txt', 'newer notes'])
  equal('the other', (await save('报告 1%.txt')).bytes.toString(), 'a report')
  await press(page, say.tidy)
  for (const name of ['large.bin', 'a~b.txt']) await press(page, say.forget(name))
  await uploads.waitFor({ state: 'detached' })

  // folders: one that appears with its first file, the way up, Back
  await page.goto('/app/free/trip/day 1')
  await page.getByText(say.emptyFolder, { exact: true }).waitFor()
  await upload(page, say, [file('lake.txt', 'a lake')])
  await link('lake\\.txt').waitFor()
  await look(page, config, 'free-folder')
  const steps = page.getByRole('navigation', { name: say.location })
  await steps.getByRole('link', { name: 'trip', exact: true }).click()
  await link('day 1').click()
  await link('lake\\.txt').waitFor()
  equal('the address', decodeURI(new URL(page.url()).pathname), '/app/free/trip/day 1')
  await page.goBack()
  await link('day 1').waitFor()
  await steps.getByRole('link', { name: bucket.Name }).click()
  await link('trip').waitFor()
  await look(page, config, 'free-files')

  // deletion asks; a file that is gone is told
  await press(page, say.remove('notes.txt'))
  const asks = page.getByRole('dialog', { name: say.sure('notes.txt') })
  await look(page, config, 'free-delete')
  await asks.getByRole('button', { name: say.cancel, exact: true }).click()
  equal('the bucket', (await keys()).length, 3)
  await press(page, say.remove('notes.txt'))
  await asks.getByRole('button', { name: say.delete, exact: true }).click()
  await link('notes\\.txt').waitFor({ state: 'detached' })
  equal('the bucket', await keys(), ['trip/day 1/lake.txt', '报告 1%.txt'])
  await config.ask('emptyBucket')
  await press(page, say.download('报告 1%.txt'))
  await page.getByText(say.gone).waitFor()

  // a reload keeps the session; after its time the form has all values but the secret
  await page.reload()
  await connected.waitFor()
  await page.getByText(say.empty, { exact: true }).waitFor()
  await config.ask('expireFree')
  await upload(page, say, [file('later.txt', 'later')])
  await page.getByText(say.expired).waitFor()
  await look(page, config, 'free-expired')
  const values = [say.endpoint, say.bucket, say.keyId, say.secret].map((label) => field(page, label).inputValue())
  equal('the values', await Promise.all(values), [bucket.Endpoint, bucket.Name, bucket.AccessKey, ''])
  const stored = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]))
  equal('whether the page has stored the secret', stored.includes(bucket.SecretKey), false)
  await field(page, say.secret).fill(bucket.SecretKey)
  await page.keyboard.press('Enter')
  await connected.waitFor()
  await link('later\\.txt').waitFor()
  equal('the bucket', await keys(), ['later.txt'])

  // the last minutes, by the clock of the page, and the end
  await page.clock.install()
  await page.clock.fastForward('01:55:30')
  await page.getByText(say.soon).waitFor()
  equal('the time left', say.minutesLeft.test(await left()), true)
  await look(page, config, 'free-soon')
  await page.clock.fastForward('05:00')
  await page.getByText(say.expired).waitFor()
  await page.reload()
  await connected.waitFor() // the server's clock counts
  await press(page, say.end)
  await page.getByText(say.ended).waitFor()
  await becomes('the kept key', () => field(page, say.keyId).inputValue(), '')
  await page.reload()
  await page.getByRole('heading', { level: 1, name: say.title }).waitFor()

  await config.ask('siteSettings', { enableFreeMode: false })
  await page.reload()
  await page.getByText(say.off).waitFor()
  await look(page, config, 'free-off')
  await Promise.all([
    page.waitForResponse((response) => response.url().endsWith('/api/public/features')),
    page.goto('/app/login'),
  ])
  await page.getByRole('button', { name: say.signIn, exact: true }).waitFor()
  await becomes('the link to free mode', () => page.getByRole('link', { name: say.link }).count(), 0)
  await config.ask('siteSettings', { enableFreeMode: true })
}

// Another tab connects another bucket: nothing is done there by mistake.
async function twoTabs(page, config) {
  const say = texts[config.language]
  const connect = async (tab, bucket) => {
    await tab.goto('/app/free')
    await fill(tab, say, bucket, bucket.SecretKey)
    await press(tab, say.connect)
    await tab.getByRole('heading', { name: say.connected(bucket.Name) }).waitFor()
  }
  await connect(page, await config.ask('createBucket'))
  await upload(page, say, [file('same.txt', 'first bucket')])
  const bin = page.getByRole('button', { name: say.remove('same.txt') })
  await bin.waitFor()

  const second = await config.ask('createBucket')
  const tab = await page.context().newPage()
  await tab.goto('/app/free')
  await press(tab, say.end)
  await connect(tab, second)
  await upload(tab, say, [file('same.txt', 'second bucket')])
  await tab.getByRole('button', { name: say.remove('same.txt') }).waitFor()

  await bin.click()
  const asks = page.getByRole('dialog', { name: say.sure('same.txt') })
  await asks.getByRole('button', { name: say.delete, exact: true }).click()
  await page.getByText(say.otherTab(second.Name)).waitFor()
  await page.getByRole('heading', { name: say.connected(second.Name) }).waitFor()
  equal('the second bucket', await config.ask('bucketKeys'), ['same.txt'])
}

// By the keyboard alone: connect, upload, download, delete, end.
async function byKeyboard(page, config) {
  const say = texts[config.language]
  const bucket = await config.ask('createBucket')
  const k = new Keys(page, config, '')
  const enter = async (label, text) => {
    await k.to(label)
    await k.type(text)
  }
  await page.goto('/app/free')
  await page.getByRole('heading', { level: 1, name: say.title }).waitFor()
  await k.to(say.kind)
  await page.keyboard.type(say.other)
  await enter(say.endpoint, bucket.Endpoint)
  await enter(say.bucket, bucket.Name)
  await enter(say.keyId, bucket.AccessKey)
  await enter(say.secret, bucket.SecretKey)
  await look(page, config, 'free-by-keys')
  await k.press('Enter')
  await page.getByRole('heading', { level: 1, name: say.connected(bucket.Name) }).waitFor()
  await k.to(say.upload)
  await k.give([file('notes.txt', 'my notes')])
  await page.getByText(say.status(1, 1)).waitFor()
  await k.to(say.tidy, 'Shift+Tab')
  await k.press('Enter')
  await k.to(say.download('notes.txt'))
  equal('the download', (await saved(page, () => k.press('Enter'))).bytes.toString(), 'my notes')
  const asks = page.getByRole('dialog', { name: say.sure('notes.txt') })
  await k.closes(say.remove('notes.txt'), asks)
  await k.press('Enter')
  await asks.waitFor()
  await k.to(say.delete)
  await k.press('Enter')
  await page.getByText(say.empty, { exact: true }).waitFor()
  equal('the bucket', await config.ask('bucketKeys'), [])
  await look(page, config, 'free-by-keys-empty')
  await k.to(say.end)
  await k.press('Enter')
  await page.getByText(say.ended).waitFor()
  await k.press('Tab')
}

export const scenarios = [
  {
    name: 'connects an own bucket',
    forms: (full) => [...bothLanguages(full), { language: 'zh-CN', theme: 'light', size: 'phone' }],
    run: connects,
  },
  { name: 'connects another bucket in another tab', forms: once, run: twoTabs },
  { name: 'uses an own bucket by the keyboard', forms: () => windows(false, ['narrow']), run: byKeyboard },
]
