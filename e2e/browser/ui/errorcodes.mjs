// Every error code of the interface is one sentence in the reader's language. The codes of sign-in,
// mail and shares are in the scenarios of their screens, and 429 in those of interruptions.
import { createFolder, enter } from './files.mjs'
import { bothLanguages } from './forms.mjs'
import { equal, inspect } from './harness.mjs'
import { labels } from './labels.mjs'

const refusals = {
  VALIDATION_ERROR: 400,
  INVALID_PASSWORD: 401,
  FORBIDDEN: 403,
  PASSWORD_REQUIRED: 403,
  INVALID_CSRF: 403,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  OPERATION_FAILED: 409,
  UPLOAD_SESSION_EXPIRED: 410,
  QUOTA_EXCEEDED: 413,
  PAYLOAD_TOO_LARGE: 413,
  INTERNAL_ERROR: 500,
}
const endings = ['UNAUTHORIZED', 'INVALID_TOKEN', 'USER_DISABLED', 'ROLE_CHANGED', 'SESSION_REVOKED']

const texts = {
  'en-US': {
    favourite: 'Favorite',
    // the message of the service, which says more than a sentence for all cases
    VALIDATION_ERROR: 'The service says VALIDATION_ERROR.',
    OPERATION_FAILED: 'The service says OPERATION_FAILED.',
    INVALID_PASSWORD: 'Wrong password.',
    FORBIDDEN: "You don't have permission to do that.",
    PASSWORD_REQUIRED: 'This needs a password.',
    INVALID_CSRF: "The change wasn't made. Reload the page and try again.",
    NOT_FOUND: "The item doesn't exist, or it was moved or deleted.",
    ALREADY_EXISTS: 'Something with that name already exists.',
    UPLOAD_SESSION_EXPIRED: 'The upload expired.',
    QUOTA_EXCEEDED: 'Not enough storage left.',
    PAYLOAD_TOO_LARGE: 'The file is too large.',
    INTERNAL_ERROR: 'Something went wrong on the server. Try again in a moment.',
    NETWORK: "Can't reach the server.",
    UNAUTHORIZED: 'Sign in first.',
    INVALID_TOKEN: 'Your session has ended. Sign in again.',
    USER_DISABLED: 'This account is disabled.',
    ROLE_CHANGED: 'Your role has changed. Sign in again.',
    SESSION_REVOKED: 'You were signed out somewhere else. Sign in again.',
  },
  'zh-CN': {
    favourite: '收藏',
    VALIDATION_ERROR: '服务器不接受填写的内容，请检查后重试。',
    INVALID_PASSWORD: '密码不正确。',
    FORBIDDEN: '您没有此操作的权限。',
    PASSWORD_REQUIRED: '需要访问密码。',
    INVALID_CSRF: '操作没有执行，请重新加载页面。',
    NOT_FOUND: '内容不存在，或已被移动、删除。',
    ALREADY_EXISTS: '已存在同名项目。',
    OPERATION_FAILED: '最多可收藏 1,000 项。', // the reason of that code here
    UPLOAD_SESSION_EXPIRED: '上传会话已过期。',
    QUOTA_EXCEEDED: '存储空间不足。',
    PAYLOAD_TOO_LARGE: '文件太大。',
    INTERNAL_ERROR: '服务器出错了，请稍后重试。',
    NETWORK: '无法连接到服务器。',
    UNAUTHORIZED: '请先登录。',
    INVALID_TOKEN: '登录已失效，请重新登录。',
    USER_DISABLED: '此账户已停用。',
    ROLE_CHANGED: '您的角色已更改，请重新登录。',
    SESSION_REVOKED: '您已在其他地方退出登录，请重新登录。',
  },
}

async function says(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  await enter(page, config, '')
  const folder = await createFolder(page, config, `Codes ${config.language}`, [{ name: 'a.txt', bytes: btoa('words') }])
  let answer
  await page.route('**/api/users/me/favourites/*', (route) => answer(route))
  const refuses = (code, status) => (route) =>
    route.fulfill({
      status,
      json: { success: false, error: { code, message: `The service says ${code}.` }, timestamp: 0 },
    })
  const button = page.getByRole('complementary').getByRole('button', { name: say.favourite, exact: true })
  const opens = async () => {
    await page.goto(`/app/files${folder}`)
    await page.getByRole('link', { name: /^a\.txt/ }).click()
    await page.keyboard.press('Alt+KeyI')
    await button.waitFor()
  }

  await opens()
  for (const [code, status] of Object.entries(refusals)) {
    answer = refuses(code, status)
    await button.click()
    await page.getByText(say[code], { exact: true }).first().waitFor()
    equal(`the star after ${code}`, await button.getAttribute('aria-pressed'), 'false')
  }
  equal('faults of the last sentence', await inspect(page), [])
  equal('the statuses that are faults', page.faults().map((fault) => fault.slice(0, 4)), ['500 '])
  answer = (route) => route.abort()
  await button.click()
  await page.getByText(say.NETWORK, { exact: true }).first().waitFor()

  for (const code of endings) {
    answer = refuses(code, 401)
    await opens()
    await button.click()
    const dialog = page.getByRole('dialog', { name: say.lost })
    await dialog.getByText(say[code]).waitFor()
    if (code === endings[0]) equal('faults of the dialog', await inspect(page), [])
  }
}

export const scenarios = [{ name: 'each error code is a sentence', forms: bothLanguages, run: says }]
