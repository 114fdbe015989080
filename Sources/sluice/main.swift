import Command

CommandLineTool.main()
