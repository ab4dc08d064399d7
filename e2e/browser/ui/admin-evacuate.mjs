// Moves of everything in a storage, or in a mount, to another storage.
import { enterAs } from './admin.mjs'
import { createFolder } from './files.mjs'
import { becomes, equal, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { api, arrived, look, pictures } from './stranger.mjs'

const words = {
  'en-US': {
    storage: 'Storage',
    mounts: 'Mounts',
    title: (name) => `Move everything of “${name}” to another storage`,
    open: (name) => `Move everything of “${name}” to another storage…`,
    target: 'Target',
    limit: 'Limit in MB/s',
    badLimit: 'Enter a whole number from 1 to 100,000, or nothing.',
    drop: "Don't wait for signed addresses to expire",
    start: 'Start moving',
    started: 'The move has started',
    move: (from, to) => `“${from}” to “${to}”`,
    moveOf: (path, from, to) => `${path} from “${from}” to “${to}”`,
    counts: '2 of 6 objects',
    moving: 'Moving',
    paused: 'Paused',
    done: 'Done',
    failed: 'Failed',
    pause: 'Pause',
    resume: 'Resume',
    mark: (to) => `Is being moved to “${to}”`,
    markPaused: (to) => `Move to “${to}” is paused`,
    receives: (from) => `Receives the objects of “${from}”`,
    conflict: 'This mount is being evacuated. Wait until that has ended.',
    empty: (name) => `The old storage “${name}” is empty and can be deleted.`,
    remove: (name) => `Delete “${name}”`,
    delete: 'Delete',
    missing: /^The object \S+ is not in the storage\./,
    again: 'Start again…',
    mountDone: (path, to) => `All files of ${path} are in “${to}”.`,
  },
  'zh-CN': {
    storage: '存储',
    mounts: '挂载点',
    title: (name) => `将“${name}”全部迁移到另一个存储`,
    open: (name) => `将“${name}”全部迁移到另一个存储…`,
    target: '目标存储',
    limit: '速度上限（MB/s）',
    badLimit: '请输入 1 到 100,000 的整数，或留空。',
    drop: '不等待已签名的地址过期',
    start: '开始迁移',
    started: '迁移已开始',
    move: (from, to) => `“${from}”迁移到“${to}”`,
    moveOf: (path, from, to) => `${path} 从“${from}”迁移到“${to}”`,
    counts: '2 / 6 个对象',
    moving: '正在迁移',
    paused: '已暂停',
    done: '已完成',
    failed: '失败',
    pause: '暂停',
    resume: '继续',
    mark: (to) => `正在迁移到“${to}”`,
    markPaused: (to) => `迁移到“${to}”（已暂停）`,
    receives: (from) => `正在接收“${from}”的对象`,
    conflict: '此存储、目标存储或挂载点正在参与另一次迁移。请等待其结束。',
    empty: (name) => `原来的存储“${name}”已清空，可以删除。`,
    remove: (name) => `删除“${name}”`,
    delete: '删除',
    missing: /^对象 \S+ 不在存储中。/,
    again: '重新开始…',
    mountDone: (path, to) => `${path} 的所有文件都已在“${to}”中。`,
  },
}

const forms = () => [
  { language: 'en-US', theme: 'light', size: 'desk' },
  { language: 'zh-CN', theme: 'dark', size: 'narrow' },
  { language: 'en-US', theme: 'dark', size: 'phone' },
]

// patience is for the ends of jobs on a loaded machine.
const patience = 180_000

const row = (page, name) => page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })

// opens reads each picture of a folder by its path, and fails unless it is the one that was
// uploaded.
async function opens(page, folder) {
  for (const { name, bytes } of pictures) {
    const read = await page.evaluate(async (path) => {
      const answer = await fetch(encodeURI(path))
      const content = new Uint8Array(await answer.arrayBuffer())
      return { status: answer.status, bytes: btoa(Array.from(content, (byte) => String.fromCharCode(byte)).join('')) }
    }, `${folder}/${name}`)
    equal(`the status of ${name}`, read.status, 200)
    equal(`the content of ${name}`, read.bytes === bytes, true)
  }
}

// "I move my disk to a bucket, pause, resume, see it finished, delete the old storage, and pictures
// still open." The bucket takes two objects, and holds the others until the test lets them go.
async function evacuates(page, config) {
  const word = words[config.language]
  const { cancel } = labels[config.language]
  await enterAs(page, config, word.storage)
  const { Disk, Bucket, Path } = await config.ask('createMove')
  await createFolder(page, config, 'album', pictures, Path)
  await config.ask('holdMove', 2)
  await page.reload()

  await page.getByRole('button', { name: word.open(Disk) }).click()
  const dialog = page.getByRole('dialog', { name: word.title(Disk) })
  await dialog.getByLabel(word.target).selectOption({ label: Bucket })
  await dialog.getByLabel(word.limit).fill('0')
  await dialog.getByRole('button', { name: word.start }).click()
  await dialog.getByText(word.badLimit).waitFor()
  equal('the choice about signed addresses of a disk', await dialog.getByRole('switch').count(), 0)
  await look(page, config, 'admin-evacuate-form')
  await dialog.getByLabel(word.limit).fill('100')
  await dialog.getByRole('button', { name: word.start }).click()
  await dialog.waitFor({ state: 'detached' })

  const card = page.getByRole('article', { name: word.move(Disk, Bucket) })
  await card.getByText(word.moving, { exact: true }).waitFor()
  await card.getByText(word.counts).waitFor({ timeout: patience })
  await row(page, Disk).getByRole('link', { name: word.mark(Bucket) }).waitFor()
  await row(page, Bucket).getByRole('link', { name: word.receives(Disk) }).waitFor()
  await look(page, config, 'admin-evacuation')
  await opens(page, `${Path}/album`)

  // the mount says so too, and can't be moved meanwhile
  const mount = (await api(page, 'GET', '/api/admin/mounts')).mounts.find(({ mountPath }) => mountPath === Path)
  await page.goto(`/app/admin/mounts?evacuate=${mount.id}`)
  await row(page, Path).getByRole('link', { name: word.mark(Bucket) }).waitFor()
  equal('buttons to move it', await page.getByRole('button', { name: word.open(Path) }).count(), 0)
  const refused = page.getByRole('dialog', { name: word.title(Path) })
  await refused.getByLabel(word.target).selectOption({ label: Bucket })
  await refused.getByRole('button', { name: word.start }).click()
  await refused.getByText(word.conflict).waitFor()
  await refused.getByRole('button', { name: cancel, exact: true }).click()
  await look(page, config, 'admin-evacuation-mount')

  await row(page, Path).getByRole('link', { name: word.mark(Bucket) }).click()
  await card.getByRole('button', { name: word.pause, exact: true }).click()
  await card.getByText(word.paused, { exact: true }).waitFor()
  await row(page, Disk).getByRole('link', { name: word.markPaused(Bucket) }).waitFor()
  await config.ask('releaseMove')
  await look(page, config, 'admin-evacuation-paused')
  await opens(page, `${Path}/album`)
  const job = new URL(page.url()).searchParams.get('evacuation')
  equal('the rest', (await api(page, 'GET', `/api/admin/evacuations/${job}`)).evacuation.leftObjects, 4)

  await card.getByRole('button', { name: word.resume, exact: true }).click()
  await card.getByText(word.empty(Disk)).waitFor({ timeout: patience })
  await card.getByText(word.done, { exact: true }).waitFor()
  await look(page, config, 'admin-evacuation-done')
  await card.getByRole('button', { name: word.remove(Disk) }).click()
  const asks = page.getByRole('dialog', { name: word.remove(Disk) })
  await asks.getByRole('button', { name: word.delete, exact: true }).click()
  await row(page, Disk).waitFor({ state: 'detached' })
  await opens(page, `${Path}/album`)
  await page.goto(`/app/files${Path}/album`)
  await arrived(page, pictures.length)
}

// The objects of a mount are moved: at first one is missing on the disk, and the reason is shown.
// After its file is deleted, the same move is started again.
async function moves(page, config) {
  const word = words[config.language]
  await enterAs(page, config, word.storage)
  const { Disk, Bucket, Path } = await config.ask('createMove')
  await createFolder(page, config, 'album', pictures.slice(0, 1), Path)
  await config.ask('loseObjects', Disk)
  await page.goto('/app/admin/mounts')
  await page.getByRole('button', { name: word.open(Path) }).click()
  const dialog = page.getByRole('dialog', { name: word.title(Path) })
  await dialog.getByLabel(word.target).selectOption({ label: Bucket })
  await dialog.getByRole('button', { name: word.start }).click()
  await page.getByRole('heading', { level: 2, name: word.storage, exact: true }).waitFor()
  const card = page.getByRole('article', { name: word.moveOf(Path, Disk, Bucket) })
  await card.getByText(word.missing).waitFor({ timeout: patience })
  await card.getByText(word.failed, { exact: true }).waitFor()
  await look(page, config, 'admin-evacuation-failed')

  const { folder } = await api(page, 'GET', `/api/files?path=${Path}/album`)
  await api(page, 'DELETE', `/api/files/${folder.id}`)
  await createFolder(page, config, 'again', pictures, Path)
  await card.getByRole('button', { name: word.again }).click()
  await becomes(
    'the target',
    () => dialog.getByLabel(word.target).evaluate((select) => select.selectedOptions[0].text),
    Bucket,
  )
  await dialog.getByRole('button', { name: word.start }).click()
  await until(
    'the end of the move',
    async () => (await card.getByText(word.mountDone(Path, Bucket)).count()) > 0,
    patience,
  )
  await look(page, config, 'admin-evacuation-mount-done')
  await opens(page, `${Path}/again`)
}

// A bucket signs addresses: the form asks whether to wait for them.
async function asksAboutAddresses(page, config) {
  const word = words[config.language]
  await enterAs(page, config, word.storage)
  const { Bucket } = await config.ask('createMove')
  await page.reload()
  await page.getByRole('button', { name: word.open(Bucket) }).click()
  const dialog = page.getByRole('dialog', { name: word.title(Bucket) })
  await dialog.getByRole('switch', { name: word.drop }).check()
  await look(page, config, 'admin-evacuate-bucket')
}

export const scenarios = [
  { name: 'evacuates a disk to a bucket', forms, run: evacuates },
  { name: 'evacuates a mount that lacks an object', forms: () => forms().slice(0, 2), run: moves },
  { name: 'asks about signed addresses', forms, run: asksAboutAddresses },
]
