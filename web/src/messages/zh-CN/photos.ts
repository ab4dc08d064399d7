export const photos = {
  date: "日期",
  choose: (month: string) => `选择${month}的全部照片`,
  kind: "类型",
  kinds: { all: "全部", image: "图片", video: "视频" },
  none: { all: "还没有照片", image: "还没有图片", video: "还没有视频" },
  noneText: "您上传到任何文件夹的图片和视频都会按月份显示在这里。",
  video: "视频",
};
